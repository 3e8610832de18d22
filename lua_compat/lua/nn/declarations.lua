-- Declarations of nn's layers and criterions, by class name: one table for each family, in nn/FAMILY/declarations.lua.
-- From them come constructors, the functions that read a module's fields, the signatures of kernels, THNN's functions,
-- and the prompt's help. Python reads them, too (lua_compat/declarations.py), so this file needs nothing but Lua. The
-- keys of a declaration:
--    help       a sentence for the prompt's ?; usage: the arguments that it shows, if not the names of `arguments`
--    base       the parent class, if it is not Module or Criterion; a class inherits what it does not declare
--    arguments  of the constructor, in order; each is a field of the module; '...': those of the base
--    fields     that a new module has in addition to these and to the base's
--    optional   fields that a module may have, with the value to assume if it has not
--    absent     the value to assume for a module (of an old file) without the field, if that is not its default
--    ranges     of numbers: { the argument's place in C's function, what they are, fields }: all must be above zero; or
--               { place, condition, message, the fields in the message }
--    kind       which tensors its kernels take, and in which order (nn/shared/declared.lua)
--    kernel     the name of its kernel; takes: what the kernel takes after the tensors: fields, whole numbers or
--               'texts'; after '...' any number of them. gradient_takes: the same for the gradient's kernel, if it
--               differs
--    kernels    other kernels, by name: the letters of their tensors (o: resized by the kernel; t) and what they take
--               after these: `takes`, fields, and name:type for what a call adds. A family's declarations may have
--               kernels, too: those that several of its classes call
--    thnn       the arguments of THNN's functions, by the module's method, as names of fields; _ is a buffer that only
--               Torch7 needs; thnn_name: the class's name there
--    torch_nn   the class of torch.nn that computes the same
--
-- A field is name:type or name:type=default. A default is a number, true, false, a 'text', or the name of another
-- field; name:type? may be nil. With ! after its type, it is only an argument of the constructor, not a field. The
-- types are
--    whole      a whole number that fits C's int; index: one that fits C's long, compared with indices
--    number     as LuaJIT passes it to C; scalar: as torch's functions accept it, so it may be a string with a number
--    flag       true or false, as LuaJIT passes it to C; truth: as Lua's `if` takes it, so that anything but nil and
--               false is true; exact: nothing but true is true. A module without it means false
--    text, tensor, module, any
--    table, LongStorage, Tensor, LongTensor and other tensors: created empty by the constructor
local declarations = {}

-- In the order in which nn loads them.
declarations.families = { 'containers', 'decorators', 'identity', 'linear', 'sparse', 'similarity', 'transfer', 'shape',
   'dropout', 'arithmetic', 'reduce', 'tables', 'normalization', 'convolution', 'pooling', 'padding', 'upsampling',
   'criterions' }

local FRACTION = '^(%d+)/(%d+)$'

-- The value of a default, or the name of the field that holds it.
local function value_of(text)
   local above, below = text:match(FRACTION)
   if above then return above / below end
   if text == 'true' or text == 'false' then return text == 'true' end
   local quoted = text:match("^'(.*)'$")
   if quoted or tonumber(text) then return quoted or tonumber(text) end
   return nil, text
end

-- Appends the fields in a text. role: argument, field or optional; own: an argument that is not a field
local function add_fields(list, text, role)
   for name, kind, own, rest in (text or ''):gmatch('([%w_]+):(%a+)(!?)(%S*)') do
      local field = { name = name, kind = kind, role = own == '!' and 'own' or role, may_be_nil = rest == '?' }
      if rest:sub(1, 1) == '=' then field.default, field.like = value_of(rest:sub(2)) end
      list[#list + 1] = field
   end
end

-- The keys that a class inherits from its base
local INHERITED = { 'optional', 'absent', 'ranges', 'kind', 'kernel', 'takes', 'gradient_takes' }

-- Fills `all` and `places` of a declaration. A class repeats only what differs from its base.
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

-- A script does not use most classes of nn, so fields are parsed on first access.
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
local of_families -- declarations of nothing but kernels that several classes of a family call

local function read_all()
   written, of_families = {}, {}
   for _, family in ipairs(declarations.families) do
      for name, d in pairs(require('nn.' .. family .. '.declarations')) do
         if name == 'kernels' then
            of_families[#of_families + 1] = { family = family, kernels = d }
         else
            d.family = family
            written[name] = d
         end
      end
   end
end

-- A class's own declaration, without its base's. cudnn.X: another package's class, declared in cudnn/declarations.lua.
function declarations.written(name)
   local package_name, own = name:match('^(%a+)%.(%w+)$')
   if package_name then return require(package_name .. '.declarations')[own] end
   if not written then read_all() end
   return written[name]
end

-- The declaration of a class, with what it inherits; nil if there is none. `all` lists its fields, each with name,
-- kind, role, and default or like (the field that holds the default), absent, may_be_nil.
function declarations.of(name)
   local d = declarations.written(name)
   if not known[name] and d then known[name] = resolved(name, d) end
   return known[name]
end

-- A field of a declaration, by its name
function declarations.field(declaration, name)
   return declaration.all[declaration.places[name] or error(declaration.name .. ' has no field ' .. name, 0)]
end

-- Whether the constructor of a class takes an argument; reads less than declarations.field
function declarations.takes(name, argument)
   return declarations.of(name).argument_text:find('%f[%w_]' .. argument .. ':') ~= nil
end

-- The names of all classes, sorted
function declarations.names()
   if not written then read_all() end
   local names = {}
   for name in pairs(written) do names[#names + 1] = name end
   table.sort(names)
   return names
end

-- The declarations that name kernels, those of families among them
function declarations.with_kernels()
   local list = {}
   for _, name in ipairs(declarations.names()) do
      if written[name].kernel or written[name].kernels then list[#list + 1] = declarations.of(name) end
   end
   for _, family in ipairs(of_families) do list[#list + 1] = family end
   return list
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
