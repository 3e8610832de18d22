-- Functions shared by optnet's files and by scripts that use it.
local utils = {}

-- Calls seen(t, ...) for each tensor with a storage, also in nested lists, and before that new(t, ...) for the first
-- tensor of each storage. track keeps the results of new, by the storage's address.
function utils.keepTrack(t, track, new, seen, ...)
   if torch.isTensor(t) then
      local storage = t:storage()
      if not storage then return end
      local address = torch.pointer(storage)
      track[address] = track[address] or new(t, ...)
      if seen then seen(t, track, ...) end
   elseif torch.type(t) == 'table' then
      for _, entry in ipairs(t) do utils.keepTrack(entry, track, new, seen, ...) end
   end
end

function utils.recursiveClone(out)
   if torch.isTensor(out) then return out:clone() end
   local copy = {}
   for i, entry in ipairs(out) do copy[i] = utils.recursiveClone(entry) end
   return copy
end

function utils.copyTable(t)
   if type(t) ~= 'table' then return t end
   local copy = {}
   for key, value in pairs(t) do copy[key] = utils.copyTable(value) end
   return copy
end

return utils
