-- What is declared of nn's layers and criterions, by the class's name: a table for each family, in
-- nn/FAMILY/declarations.lua. Constructors, the functions that read a module's fields, the signatures of kernels,
-- THNN's functions and the prompt's help are made from it. Python reads it, too (lua_compat/declarations.py), so that
-- this file needs nothing but Lua. The words of a declaration:
--    help       a sentence for the prompt's ?, and usage: the arguments that it shows, if not the names of `arguments`
--    base       the parent class, if it is not Module or Criterion; what a class does not say is as there
--    arguments  of the constructor, in their order, each a field of the module; '...': those of the base
--    fields     that a new module has beside these and beside the base's
--    optional   fields that a module may have, with what is meant where it has none
--    absent     what is meant where a module (of an old file) has no such field, if that is not its default
--    ranges     of numbers: { its place in C's function, what they are, fields }: all are above zero, or
--               { place, condition, message, the fields in the message }
--    kind       which tensors its kernels take, and in which order (nn/shared/declared.lua)
--    kernel     the name of its kernel, and takes: what the kernel takes after the tensors: fields, 'texts'; of those
--               after ... there may be any number. gradient_takes: the kernel of the gradient, if it is not the same
--    thnn       what THNN's functions take, by the module's method, as names of fields: _ is a buffer that Torch7
--               needs; thnn_name: the name of the class there
--    torch_nn   the class of torch.nn that computes the same
--
-- A field is name:type, or name:type=default, where a default is a number, true, false, a 'text', or the name of
-- another field; name:type? may be nil. With ! after its type it is the constructor's own, no field. The types are
--    whole      a whole number that C's int can hold
--    number     as LuaJIT gives it to C; scalar: as a function of torch takes it, which may be a text of a number
--    flag       true or false; a module without it means false
--    text, tensor, module, any
--    table, LongStorage, Tensor, LongTensor and other tensors: made empty by the constructor
local declarations = {}

-- In the order in which nn loads them.
declarations.families = { 'containers', 'decorators', 'identity', 'linear', 'sparse', 'similarity', 'transfer', 'shape',
   'dropout', 'arithmetic', 'reduce', 'tables', 'normalization', 'convolution', 'pooling', 'padding', 'upsampling',
   'criterions' }

local FRACTION = '^(%d+)/(%d+)$'

-- The value of a default, or the name of the field that has it.
local function value_of(text)
   local above, below = text:match(FRACTION)
   if above then return above / below end
   if text == 'true' or text == 'false' then return text == 'true' end
   local quoted = text:match("^'(.*)'$")
   if quoted or tonumber(text) then return quoted or tonumber(text) end
   return nil, text
end

-- Appends the fields of a text. role: argument, field or optional; own: an argument that becomes no field
local function add_fields(list, text, role)
   for name, kind, own, rest in (text or ''):gmatch('([%w_]+):(%a+)(!?)(%S*)') do
      local field = { name = name, kind = kind, role = own == '!' and 'own' or role, may_be_nil = rest == '?' }
      if rest:sub(1, 1) == '=' then field.default, field.like = value_of(rest:sub(2)) end
      list[#list + 1] = field
   end
end

-- What a class has of its base's words
local INHERITED = { 'optional', 'absent', 'ranges', 'kind', 'kernel', 'takes', 'gradient_takes' }

-- Fills `all` and `places` of a declaration. A class says once more what it has otherwise than its base.
local function find_fields(declaration)
   local list, all, places = {}, {}, {}
   add_fields(list, declaration.argument_text, 'argument')
   add_fields(list, declaration.field_text, 'field')
   add_fields(list, declaration.optional, 'optional')
   for _, field in ipairs(list) do
      local place = places[field.name] or #all + 1
      if not places[field.name] or field.role == 'field' then all[place], places[field.name] = field, place end
   end
   for name, text in (declaration.absent or ''):gmatch('([%w_]+)=(%S+)') do
      all[places[name]].absent = value_of(text)
   end
   declaration.all, declaration.places = all, places
end

-- Most classes of nn are not used by a script: their fields are found when they are asked for.
local on_demand = { __index = function(declaration, key)
   if key ~= 'all' and key ~= 'places' then return nil end
   find_fields(declaration)
   return declaration[key]
end }

local function resolved(name, d)
   local base = d.base and declarations.of(d.base)
   local full = {}
   for _, key in ipairs(INHERITED) do full[key] = base and base[key] end
   for key, value in pairs(d) do full[key] = value end
   full.name, full.base = name, d.base or name:find('Criterion$') and 'Criterion' or 'Module'
   local arguments = d.arguments
   if base and arguments then arguments = arguments:gsub('^%.%.%.', base.argument_text) end
   full.argument_text = arguments or base and base.argument_text or ''
   full.field_text = (base and base.field_text .. ' ' or '') .. (d.fields or '')
   return setmetatable(full, on_demand)
end

local written, known = nil, {}

local function read_all()
   written = {}
   for _, family in ipairs(declarations.families) do
      for name, d in pairs(require('nn.' .. family .. '.declarations')) do
         d.family = family
         written[name] = d
      end
   end
end

-- What is written of a class, without what its base says. cudnn.X: of another package's, in cudnn/declarations.lua.
function declarations.written(name)
   local package_name, own = name:match('^(%a+)%.(%w+)$')
   if package_name then return require(package_name .. '.declarations')[own] end
   if not written then read_all() end
   return written[name]
end

-- The declaration of a class, its base's words included; nil where there is none. `all` lists its fields, each with
-- name, kind, role, and default or like (the field that has the default), absent, may_be_nil.
function declarations.of(name)
   local d = declarations.written(name)
   if not known[name] and d then known[name] = resolved(name, d) end
   return known[name]
end

-- A field of a declaration, by its name
function declarations.field(declaration, name)
   return declaration.all[declaration.places[name] or error(declaration.name .. ' has no field ' .. name, 0)]
end

-- The names of all classes, sorted
function declarations.names()
   if not written then read_all() end
   local names = {}
   for name in pairs(written) do names[#names + 1] = name end
   table.sort(names)
   return names
end

-- The arguments of a constructor as the prompt shows them, optional ones in brackets
function declarations.usage(declaration)
   if declaration.usage then return declaration.usage end
   local required, optional = {}, {}
   for _, field in ipairs(declaration.all) do
      if field.role == 'argument' or field.role == 'own' then
         local is_optional = field.may_be_nil or field.default ~= nil or field.like
         local list = (is_optional or #optional > 0) and optional or required
         list[#list + 1] = field.name
      end
   end
   if #optional > 0 then required[#required + 1] = '[' .. table.concat(optional, ', ') .. ']' end
   return ('(%s)'):format(table.concat(required, ', '))
end

return declarations
