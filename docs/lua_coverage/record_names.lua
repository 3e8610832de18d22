-- Run by Torch7 itself: prints the first part of torch7_names.txt, what each package adds when it is loaded.
-- Of the tensor and storage types, only DoubleTensor and DoubleStorage have their methods listed: no other has more.
local packages = {'paths', 'torch', 'sys', 'xlua', 'dok', 'nn', 'optim', 'image', 'graph', 'nngraph'}
local extended = {'string', 'table', 'math', 'io', 'os'}
local width = 110

local seen = {}

local function public(key)
   return type(key) == 'string' and key:match('^%a[%w_]*$') and key ~= 'new' and not key:match('^torchtest_')
end

local function note(found, prefix, key)
   if not seen[prefix .. key] then
      seen[prefix .. key] = true
      found[prefix] = found[prefix] or {}
      table.insert(found[prefix], key)
   end
end

local function other_element_type(name)
   return name:match('^torch%.%u%l+Tensor$') and name ~= 'torch.DoubleTensor'
      or name:match('^torch%.%u%l+Storage$') and name ~= 'torch.DoubleStorage'
end

local function walk(found, path, contents, depth)
   for key, item in pairs(contents) do
      if public(key) then
         local name = path .. '.' .. key
         local class = torch and torch.getmetatable(name)
         if class then
            note(found, path .. '.', key)
            for method, value in pairs(other_element_type(name) and {} or class) do
               if public(method) and type(value) == 'function' then note(found, name .. ':', method) end
            end
         elseif type(item) == 'function' then
            note(found, path .. '.', key)
         elseif type(item) == 'table' and depth < 3 and not _G[key] then
            walk(found, name, item, depth + 1)
         end
      end
   end
end

local function added()
   local found = {}
   for _, names in ipairs{packages, extended} do
      for _, name in ipairs(names) do
         if type(rawget(_G, name)) == 'table' then walk(found, name, _G[name], 1) end
      end
   end
   for key, item in pairs(_G) do
      if public(key) and type(item) == 'function' then note(found, '_G.', key) end
   end
   return found
end

local function show(found)
   local prefixes = {}
   for prefix in pairs(found) do table.insert(prefixes, prefix) end
   table.sort(prefixes)
   for _, prefix in ipairs(prefixes) do
      table.sort(found[prefix])
      local line = prefix
      for _, key in ipairs(found[prefix]) do
         if #line + 1 + #key > width then
            print(line)
            line = prefix
         end
         line = line .. ' ' .. key
      end
      print(line)
   end
end

added()
for _, package in ipairs(packages) do
   local loaded = require(package)
   if type(loaded) == 'table' and rawget(_G, package) == nil then _G[package] = loaded end
   print('\n[' .. package .. ']')
   show(added())
end
