-- Generates code from a class's declaration (nn/declarations.lua): a function that initialises a new module's fields,
-- one that reads a module's fields for a kernel, and the signatures of its kernels.
local declarations = require 'nn.declarations'
local templates = require 'torch.core.templates'
local signatures = require 'torch.core.signatures'
local arguments = require 'torch.core.arguments'

local type, concat = type, table.concat

local declared = {}

-- For each type of field that kernels take: its letter in signatures (lua_compat/runtime/bridge.py), and the letter for
-- any number of further arguments.
local KINDS = {
   whole = { 'i', '#' }, index = { 'i' }, number = { 'd', '+' }, scalar = { 'n' }, flag = { 'b' }, truth = { 'b' },
   exact = { 'b' }, text = { 's', '$' },
}

local function literal(value)
   if type(value) == 'number' then return ('%.17g'):format(value) end
   return type(value) == 'string' and ('%q'):format(value) or tostring(value)
end

local function is_boolean(field) return KINDS[field.kind] ~= nil and KINDS[field.kind][1] == 'b' end

-- Generates the function that initialises a new module's fields.
local function setter_of(class, declaration)
   local parameters, lines = { 'self' }, {}
   local function add(text, ...) lines[#lines + 1] = '   ' .. text:format(...) end
   for _, field in ipairs(declaration.all) do
      local name, kind = field.name, field.kind
      local default = field.like or field.default ~= nil and literal(field.default)
      if field.role == 'own' or field.role == 'argument' then
         parameters[#parameters + 1] = name
         if default and is_boolean(field) then add('if %s == nil then %s = %s end', name, name, default)
         elseif default then add('%s = %s or %s', name, name, default)
         elseif field.may_be_nil and (kind == 'tensor' or kind == 'number') then -- Torch7 keeps no false
            add('%s = %s or nil', name, name)
         end
         if field.role == 'argument' then add('self.%s = %s', name, name) end
      elseif field.role == 'field' then
         if kind == 'table' then default = '{}' elseif not KINDS[kind] then default = ('torch.%s()'):format(kind) end
         add('self.%s = %s', name, default)
      end
   end
   return templates.compile('fields of nn.' .. class, 'return function($parameters) $lines return $arguments end',
      { parameters = concat(parameters, ', '), lines = concat(lines, '\n'), arguments = concat(parameters, ', ', 2) },
      { torch = torch })
end

-- A function of a new module and the constructor's arguments that initialises the module's fields. It returns the
-- arguments, with the defaults of those that are nil.
function declared.setter(name)
   return templates.on_first_call(function() return setter_of(name, declarations.of(name)) end)
end

-- Gives a class made by torch.class a constructor that only initialises the fields.
function declared.construct(class, name)
   local set, base = declared.setter(name), name:find('Criterion$') and 'nn.Criterion' or 'nn.Module'
   local root = torch.getmetatable(base)
   function class:__init(...)
      root.__init(self)
      set(self, ...)
   end
end

-- Gives a class the values to assume for missing whole numbers, if they are constants.
function declared.give_class(class, name)
   local declaration = declarations.of(name)
   for field, value in declaration.argument_text:gmatch('([%w_]+):whole=(%d+)') do class[field] = tonumber(value) end
   for field, value in (declaration.absent or ''):gmatch('([%w_]+)=(%d+)') do class[field] = tonumber(value) end
end

-- Raises an error about the argument at a position of a THNN function, as Torch7 words it.
local REFUSED = "bad argument #%d to 'v' (%s)"
function declared.refuse(position, text, ...) error(REFUSED:format(position, text:format(...)), 0) end

-- The code that raises an error for numbers out of range, and the names of the fields that it reads
local function range_lines(declaration)
   local lines, used = {}, {}
   for _, row in ipairs(declaration.ranges or {}) do
      local place, condition, text, names = row[1], row[2], row[3], row[4]
      if not names then -- { place, what, fields }
         names = row[3]:gsub(',', '')
         condition = names:gsub('(%w+)', '%1 > 0'):gsub(' 0 ', ' 0 and ')
         text = ('%s should be greater than zero, but got %s'):format(row[2], (row[3]:gsub('%w+', '%0: %%d')))
      end
      for field in names:gmatch('%w+') do used[field] = true end
      lines[#lines + 1] = ('   if not (%s) then error((%q):format(%s), 0) end'):format(condition,
         REFUSED:format(place, text), (names:gsub(' ', ', ')))
   end
   return lines, used
end

-- The value to assume for a module without the field
local function absent_value(field)
   if field.absent ~= nil then return literal(field.absent) end
   if is_boolean(field) then return 'false' end
   return field.like or field.default ~= nil and literal(field.default)
end

local READER = [[
   return function(self)
      $lines
      $checks
      return $results
   end
]]
local function reader_of(class, declaration, taken)
   local checks, used = range_lines(declaration)
   local results = {}
   for word in taken:gmatch('%S+') do
      if word ~= '...' then results[#results + 1] = word end
      if word:find('^%a') then used[declarations.field(declaration, word).name] = true end
   end
   local all = declaration.all
   for k = #all, 1, -1 do -- a default is read before the field that refers to it
      if used[all[k].name] and all[k].like then used[all[k].like] = true end
   end
   local lines = {}
   for _, field in ipairs(all) do
      local name, kind = field.name, KINDS[field.kind]
      if used[name] then
         lines[#lines + 1] = ('local %s = self.%s'):format(name, name)
         if kind then
            local absent = absent_value(field) or field.may_be_nil and 'nil'
            local converted = ('%s(%s)'):format(field.kind, name)
            if absent == 'nil' then
               converted = ("type(%s) ~= 'nil' and %s or nil"):format(name, converted)
            elseif absent and absent ~= 'false' then
               converted = ("type(%s) == 'nil' and %s or %s"):format(name, absent, converted)
            end
            lines[#lines + 1] = ('if $is_no_%s(%s) then %s = %s end'):format(field.kind, name, name, converted)
         end
      end
   end
   return templates.compile('fields of nn.' .. class, READER, { lines = concat(lines, '\n'),
      checks = concat(checks, '\n'), results = concat(results, ', ') }, arguments)
end

-- A function of a module that returns the fields named in `taken` (by default those that the kernel takes, as declared)
-- as plain numbers, booleans and strings within their ranges; 'texts' and numbers in it are returned as they are.
function declared.reader(name, taken)
   return templates.on_first_call(function()
      local declaration = declarations.of(name)
      return reader_of(name, declaration, taken or declaration.takes or '')
   end)
end

-- By kind: the letters of each kernel's tensors, by the ending of the kernel's name
local TENSORS = {
   plain = { [''] = 'ot', _gradient = 'ott' },
   pair = { [''] = 'ott', _gradients = 'oottt' },
   weighted = { [''] = 'ottt', _grad_input = 'otttt', _grad_parameters = 'ttttttd' },
   maxima = { [''] = 'oot', _grad_input = 'ottt' },
   averages = { [''] = 'ot', _grad_input = 'ott' },
}

-- A class's kernels, each with the letters of its tensors and what it takes after them.
local function kernels_of(declaration)
   local found, takes = {}, declaration.takes
   if declaration.kernel and takes then
      for ending, tensors in pairs(TENSORS[declaration.kind]) do
         found[declaration.kernel .. ending] = tensors .. ' ' .. (ending ~= '' and declaration.gradient_takes or takes)
      end
   end
   for kernel, text in pairs(declaration.kernels or {}) do
      found[kernel] = text:gsub('%f[%w]takes%f[%W]', takes or '')
   end
   return found
end

-- The signature for one of these texts
local function signature_of(declaration, text)
   local tensors, words = text:match('^(%a+)%s*(.*)$')
   local letters, rest = { tensors }, false
   for word in words:gmatch('%S+') do
      local field = word:find('^%a[%w_]*$') and declarations.field(declaration, word)
      local kind = KINDS[word:match(':(%a+)$') or field and field.kind or tonumber(word) and 'whole' or 'text']
      if word == '...' then
         rest = true
      elseif rest then
         letters[#letters + 1] = kind[2]
         break
      else
         local may_be_nil = field and field.may_be_nil and kind[1] ~= 'b' -- of flags nil is false
         letters[#letters + 1] = may_be_nil and kind[1]:upper() or kind[1]
      end
   end
   return concat(letters)
end

-- The signatures of a class's kernels, by name
function declared.signatures(declaration)
   local found = kernels_of(declaration)
   for kernel, text in pairs(found) do found[kernel] = signature_of(declaration, text) end
   return found
end

-- The files that add a family's ways to torch/core/ways.lua are loaded when one of its kernels is first called.
local files_of = {}
function declared.ways(family, files) files_of[family] = files end

local function load_ways(family)
   local files = files_of[family] or {}
   files_of[family] = nil
   for _, file in ipairs(files) do require(('nn.%s.luajit.%s'):format(family, file)) end
end

-- Signatures are made when a kernel is first called, of those that nn's classes call: Python need not be asked.
local users -- by kernel: a declaration that names it, and the text of its signature

local function find_users()
   users = {}
   for _, declaration in ipairs(declarations.with_kernels()) do
      for name, text in pairs(kernels_of(declaration)) do users[name] = { declaration, text } end
   end
end

setmetatable(signatures, { __index = function(self, kernel)
   if not users then find_users() end
   local user = users[kernel]
   if not user then return nil end
   self[kernel] = signature_of(user[1], user[2])
   load_ways(user[1].family)
   return self[kernel]
end })

return declared
