-- The package argcheck: functions that check other functions' arguments by rules, with default values, named arguments
-- and overloading.
local env = require 'argcheck.env'
local graph = require 'argcheck.graph'
local doc = require 'argcheck.doc'
local usage = require 'argcheck.usage'

-- The graph of each checking function, which an overload of it extends.
local graphs = setmetatable({}, { __mode = 'k' })

local function of_type(value, kind) return value == nil or type(value) == kind end

local function check_rules(rules)
   assert(not (rules.noordered and rules.nonamed), 'rules must be at least ordered or named')
   for _, name in ipairs{ 'help', 'doc' } do
      assert(of_type(rules[name], 'string'), ('rules %s must be a string or nil'):format(name))
   end
   for _, name in ipairs{ 'chain', 'overload' } do
      assert(of_type(rules[name], 'function'), ('rules %s must be a function or nil'):format(name))
   end
   assert(not (rules.chain and rules.overload), 'rules must have either overload [or chain (deprecated)]')
   assert(not (rules.doc and rules.help), 'choose between doc or help, not both')
   for _, rule in ipairs(rules) do
      assert(rule.name, 'rule must have a name field')
      for _, name in ipairs{ 'type', 'help', 'doc', 'check', 'defaulta', 'defaultf' } do
         local kind = (name == 'check' or name == 'defaultf') and 'function' or 'string'
         assert(of_type(rule[name], kind), ('rule %s must be a %s or nil'):format(name, kind))
      end
   end
   local first = rules[1]
   if first and first.name == 'self' then
      assert(not (first.opt or first.default or first.defaulta or first.defaultf),
         'self cannot be optional, nor having a default value!')
   end
end

-- All combinations of 1 (an argument is present), 2 (it is absent) and 3 (it is nil) as digits, the last argument
-- first.
local function masks(rules)
   local list = { '' }
   for _, rule in ipairs(rules) do
      local optional = rule.default ~= nil or rule.defaulta or rule.defaultf or rule.opt
      local longer = {}
      for _, mask in ipairs(list) do
         for state = optional and 3 or 1, 1, -1 do longer[#longer + 1] = mask .. state end
      end
      list = longer
   end
   return list
end

local function graph_of(rules)
   local overloaded = rules.chain or rules.overload
   local root = graph.new '@'
   if overloaded then root = graphs[overloaded] or error('trying to overload a non-argcheck function') end
   local by_name = rules[1] and rules[1].name == 'self' and 'M' or 'N'
   for _, mask in ipairs(masks(rules)) do
      if not rules.noordered then root:addpath(rules, mask, 'O') end
      if not rules.nonamed then root:addpath(rules, mask, by_name) end
   end
   return root
end

local function argcheck(rules)
   check_rules(rules)
   if rules.doc or rules.help then doc(usage.render(usage.usage(true, rules, true))) end
   local root = graph_of(rules)
   local code, constants = require('argcheck.code')(root)
   if rules.debug then print(code) end
   local chunk, problem = loadstring(code, 'argcheck')
   if not chunk then error('could not generate argument checker: ' .. problem) end
   local f = chunk(env.istype, constants, function(...) return usage.render(root:usage(...)) end)
   graphs[f] = root
   if rules.debug then return f, root:print() end
   return f
end

env.argcheck = argcheck

return argcheck
