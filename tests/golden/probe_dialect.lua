-- Probe of the language: what LuaJIT built with its option for Lua 5.2 (LUAJIT_ENABLE_LUA52COMPAT, as Torch7 builds
-- it) makes of each program below. Needs no package of Torch7's.
-- usage: luajit probe_dialect.lua > dialect.txt
local programs = {
   -- the length of objects
   "local mt = {__len = function() return 7 end} return #setmetatable({1, 2}, mt), rawlen(setmetatable({1, 2}, mt))",
   "local t = setmetatable({1, 2, 3}, {__index = {}}) return #t",
   "return #setmetatable({}, {__len = function(a, b) return rawequal(a, b) end})",
   "return #setmetatable({}, {__len = function() return 1, 2, 3 end}), 'and on'",
   "return (#setmetatable({}, {__len = function() return nil end}))",
   "return #setmetatable({}, {__len = setmetatable({}, {__call = function(_, x) return type(x) end})})",
   "return #setmetatable({}, {__len = 5})",
   "return #setmetatable({}, {__len = function() error('no length') end})",
   "return #setmetatable({}, {__len = function() error('of level two', 2) end})",
   "local p = newproxy(true) getmetatable(p).__len = function() return 9 end return #p",
   "local p = newproxy(true) return #p",
   "return #'abc', #\"a\\\"b#\", #[[\n#]], #'a' .. 'b', 2 ^ #'abc', #'abc' ^ 2, -#'ab', not #'ab', - - #'a'",
   "local a, n = {1, 2, 3}, 2 return #a+1, 1+#a, #a*n, n^#a, #a==3, #a..'', #a<n, n<#a, #a%2, #a/2, #a-#a, a[#a], {#a}[1]",
   "return #a.b", "local a = {} return #a.b", "local a = {b = {}} return #a.b.c", "local x return #x", "return #zz",
   "local x = 5 return #x", "local x = 5 return (function() return #x end)()", "return #nil", "return #5", "return #true",
   "return #print", "return #false", "local t = {} return #t[1]", "local t = {} return #t.x + 1", "return #(nil)",
   "local a, b = {}, nil return #a + #b", "local a, b = nil, {} return #a + #b", "local a = {} return #a:x()",
   "local f = function() end return #f()", "local s = 'x' return #s.y", "return #coroutine.create(print)",
   "local t = {}\nlocal n = 1\nreturn n +\n#t.x", "local t = {n = {}}\nlocal m = #t.n +\n#t.m", "return #1 + 1",
   "local function f(...) return #... end return f('abc', 'd')", "return #not nil", "return #{1, 2, 3}, #{n = 1}, #{{}, {}}",
   "local t = {10, 20} t[#t + 1] = 30 t[#t+1]=40 return #t, t[3], t[#t]", "local t = {}for i=1,10 do t[#t+1]=#t end return#t",
   "local x=1 return x,#'a',2#'b'", "return # --[[ a comment ]] 'abc'", "return #\n'abc'", "local a = {{1,2},{3}} return##a[1]",
   "return ##'abc'", "return #-'5'", "return - #'5' + 1", "return #'a' < #'bc' and #'d' or #'efg'",
   "return getmetatable(true), getmetatable(false), debug.getmetatable(true)", "return true ^ 2", "local a = false return a ^ 2",
   "return 2 ^ true", "local t = {} return t.x ^ 2", "local a, b = true, {} return a ^ b", "local b = {} return b ^ false", "return nil ^ false",
   "local t = debug.setmetatable(true, {__len = function() return 'length' end, __index = {x = 1}}) local n = #t local x = t.x debug.setmetatable(true, nil) return n, x, getmetatable(true)",
   "debug.setmetatable(nil, {__len = function() return 'of nil' end}) local n = #nil debug.setmetatable(nil, nil) return n",
   "return #setmetatable({}, {__len = function(t) return #rawget(t, 'x') end})",
   "local t = setmetatable({}, {__len = function() return 3 end, __index = function(_, i) return i end}) return table.concat(t, ','), unpack(t)",
   "local s = 0 for i = 1, 200 do local t = i % 2 == 0 and setmetatable({}, {__len = function() return 5 end}) or {1} s = s + #t end return s",
   "return select('#', #setmetatable({}, {__len = function() end}))",
   -- pairs and ipairs
   "local r = '' for k, v in pairs(setmetatable({}, {__pairs = function() return next, {a = 1}, nil end})) do r = r .. k .. v end return r",
   "return pairs(setmetatable({}, {__pairs = function(...) return select('#', ...), 2, 3, 4 end}))",
   "return ipairs(setmetatable({}, {__ipairs = function(...) return select('#', ...), 2, 3, 4 end}), 5)",
   "local r = '' for i, v in ipairs(setmetatable({}, {__index = function(_, i) if i < 4 then return i * i end end})) do r = r .. v end return r",
   "local p = newproxy(true) getmetatable(p).__pairs = function() return next, {x = 1} end local r for k in pairs(p) do r = k end return r",
   "return pairs(5)", "return pairs(nil)", "return ipairs('a')", "for k in pairs(nil) do end", "local t = {} for _ in ipairs(t.x) do end",
   "local n = 0 for k, v in pairs({1, 2, x = 3}) do n = n + v end return n", "return pairs(setmetatable({}, {__pairs = 5}))",
   "return select('#', pairs({})), (select(3, ipairs({})))",
   -- grammar
   "local f = tostring\nlocal s = f\n(1) return s", "local t = {f = tostring}\nreturn t.f\n\n  -- what\n (2)", "local t = {f = function(_, x) return x end}\nreturn t:f\n(3)",
   "return tostring\n(type\n(4))", "return (tostring)\n(5)", "local t = {tostring} return t[1]\n(6)", "local g = function() return tostring end return g()\n(7)",
   "local g = function() return tostring end return g'x'\n(8)", "local g = function() return tostring end return g{}\n(9)", "return tostring --[[ long\ncomment ]] (10)",
   "local s = 'x'\n(tostring)(1)", "local a = 5\n(tostring)(1)", "local a = nil\n(tostring)(1)", "local f = function() end\n(tostring)(1) return f", "do end\n(tostring)(1)",
   "local a\n(tostring)(1)", "local a = {}\n(tostring)(1)", "a.b\n= 5", "local f\nlocal x = 1\nreturn f\n(x)", "local t = {}\nreturn t.f\n(1)", "return zz\n(1)",
   "local t = {}\nreturn 1 +\nt:f\n(1)", "local f = function(x)\nerror('here') end\nlocal r = f\n\n\n(1)", "function zz_f\n(a) return a end return zz_f(3)", "local function f\n(a) return a end return f\n(4)",
   "while true do break x=1 end return x", "for i = 1, 3 do break; print() end return 'ok'", "while true do break; end", "while true do break ;; end return 1", "repeat break local x until x", "break", "break x = 1",
   "for i = 1, 9 do if i > 2 then break end x = i break end return x", "while true do do break end end return 2", "for i = 1, 2 do break local y = 1 goto e ::e:: end return 3",
   ";", ";;; return 5", "return 1;", "return 1;;", "return;;", "do return;; end", "if true then ; end return 4", "do ; x = 1 ; ; y = 2 end return x, y", "for i = 1, 2 do ; end", "local f = function() ; return 6 end return f()",
   "repeat ; until true", "if nil then else ; end", "local t = {1;;2}", "local t = {1;2} return #t", "x = ;", "f(;)", "local a;; local b;", "while nil do ; end ; return 7", "; local f = tostring ; (f)(1)", "::a:: ; ::b::; do goto c local x ::c:: ; end return 8",
   "goto = 1", "local goto = 1", "return goto", "t.goto = 1", "return {goto = 1}", "goto a; ::a:: return 9", "for i = 1, 3 do for j = 1, 3 do if j == 2 then goto continue end end ::continue:: end return 10", "::goto::", "goto goto", "function goto() end", "local t = {} t:goto()",
   "goto nowhere", "goto a local x ::a:: print(x)", "return 'goto'", "local x = 1 goto e ::e:: return x", "break = 1",
   "return 'a\\x41\\z  \n  b\\65\\u{48}'", "return '\\xZZ'", "return 'a\\\nb', 'c\\\r\nd'", "return [==[ ]] #x ]=] ]==], --[==[ ]] # ]==] 1", "return '#' --#\n, \"#\" -- # 'x",
   "return 0x10, 0x.8p1, 1e2, .5, 3., 0xA, 1e+2, 5LL, 5ULL, 1i", "return 1..2", "return 1 ..2", "return 3--comment\n+1", "return 0xe-1, 2e-1, 0xe--x\n", "return 3e", "return 'open", "return [[open", "--[[ open", "return 'a\nb'", "#!shebang line # \nreturn #'abc'", "# not lua\nreturn 1",
   "return 1 2", "return #", "x = 5 #t", "local # = 1", "x = #", "if # then end", "return # 'a' #'b'", "x = = 1", "for", "return (1", "f(", "local function end", "return #a b", "x = y\n(z", "if x then break y() end z(",
   "return ...", "local t = {...} return #t", "return a\n.b", "return ('x'):rep(3)\n:len()", "local a <const> = 1", "return 1 // 2", "return 1 & 2", "return 7 ~= 8, 7 == 7", "return not not #'a'", "\239\187\191return #'bom'", "\239\187\191#!x\nreturn #'bom'", "return '\\'#', \"\\\"#\", '\\\\', #'x'",
   -- load
   "return load('return 1, 2')()", "return loadstring('return ...')(3)", "return load('return x', 'n', 't', {x = 4})()", "return load('x =', 'name')", "return load('x =', '=name')", "return load('x =', '@name')", "return load('x =')", "return load('return #t', 'n', 't', {t = {1, 2}})()",
   "return load(string.dump(function() return #{1, 2, 3} end))()", "return load(string.dump(function() return 1 end), 'n', 't')", "return load('return 1', 'n', 'b')", "return load('return 1', nil, 'bt')()", "local n = 0 return load(function() n = n + 1 return ({'return ', '#', \"'abc'\"})[n] end)()",
   "return load(function() error('while reading') end)", "return load(function() end)", "local n = 0 return load(function() n = n + 1 if n == 1 then return 'x = = 1' end end)", "return load(function() return {} end)", "return load(5)", "return load('')", "return load({})", "return load(nil)", "return load('', {})",
   "return load('error(\"here\")', '@file')", "return pcall(load('error(\"here\")', '@file'))", "return pcall(load('\\n\\nlocal x = #y', '@file'))", "return loadfile('/no/such/file')", "return dofile('/no/such/file')", "return debug.getinfo(load('return #x', '@some'), 'S').short_src", "return debug.getinfo(load('return #x'), 'S').source",
   "return setfenv(load('return #x'), {x = {1, 2}})()", "local f = load('local n = 0 return function(t) n = n + #t return n end')() f{1} return f{1, 2}, debug.getupvalue(f, 1), debug.getupvalue(f, 2)", "return load('return 1', 'n', 't', nil)()", "return debug.getinfo(1, 'l').currentline,\n#'a', debug.getinfo(1, 'l').currentline",
   -- the library
   "local t = table.pack(1, nil, 3) return t.n, t[1], t[2], t[3]", "return table.pack().n", "return table.unpack({1, 2, 3}, 2)", "return table.unpack({1, 2, 3}, -1, 1)", "return unpack == table.unpack", "return rawlen('abc'), rawlen{1, 2}", "return rawlen(5)", 
   "return math.log(8, 2), math.log(100, 10), math.log(1)", "return ('ab'):rep(3, ', '), ('x'):rep(0, ','), ('x'):rep(1, ',')", "return xpcall(function(...) return select('#', ...), ... end, print, 1, nil)", "return xpcall(error, function(e) return 'handled ' .. e end, 'it')",
   "return package.searchers == package.loaders", "local c, main = coroutine.running() return type(c), main, coroutine.status(c)", "return coroutine.wrap(function() local c, main = coroutine.running() return type(c), main, coroutine.status(c) end)()", "return coroutine.running() == coroutine.running()", "return coroutine.resume((coroutine.running()))",
   "return os.execute('true')", "return os.execute('exit 3')", "return os.execute('kill -9 $$')", "return os.execute('kill -15 $$')", "return os.execute()", "return os.execute({})", "return os.execute('no-such-program-at-all 2>/dev/null')", "if os.execute('false') then return 'then' else return 'else' end",
   "return io.popen('exit 4'):close()", "return io.popen('true'):close()", "return io.popen('kill -9 $$'):close()", "return io.close(io.popen('exit 5'))", "local p = io.popen('echo 1; exit 6') local s = p:read('*a') return s, p:close()", "local p = io.popen('cat >/dev/null; exit 7', 'w') p:write('x') return p:close()", "local p = io.popen('true') p:close() return p:close()", "local p = io.popen('true') p:close() return io.type(p), tostring(p)", "return io.popen({})",
   "local p = io.popen('exit 8') return io.type(p), p:close()", "local p = io.popen('exit 9') local q = io.popen('exit 10') return q:close(), p:close()", "for l in io.popen('echo a; echo b'):lines() do x = l end return x",
   "local f = io.tmpfile() local same = f:write('a', 1, 'b') == f f:seek('set') return same, f:read('*a'), f:close()", "return io.tmpfile():write({})", "return io.tmpfile():write('a', nil)", "local f = io.tmpfile() f:close() return f:write('x')", "local f = io.tmpfile() f:close() return f:close()", "return io.write() == io.stdout", "return io.write(nil)", "local f = io.tmpfile() io.output(f) local r = io.write('x') == f io.output(io.stdout) return r", "return io.stdout.write(5, 'x')", "local f = io.tmpfile() f:write('x'):write('y'):seek('set') return f:read('*a')",
   "local f = io.open('/dev/full', 'w') f:setvbuf('no') local ok, text, code = f:write('x') return ok, text, code",
   "return ('abc'):find('', 10), ('abc'):find('', 4), ('abc'):find('', 5), ('abc'):match('', 5), ('abc'):match('()', 4)", "return ('abc'):find('b', -2), ('abc'):find('c', -1, true)", "return string.find('a', {})", "return ('a+b'):find('+', 1, true)", "return string.find(123, 2)", "return ('key=value'):match('(%w+)=(%w+)')",
   "local m = {} return debug.setmetatable(5, m) , getmetatable(1) == m, debug.setmetatable(5, nil)", "return debug.setmetatable({}, 5)", "return debug.getuservalue(5), type(debug.getuservalue(newproxy()))", "local p = newproxy() local u = {} return debug.setuservalue(p, u) == p, debug.getuservalue(p) == u",
   "local m = module('zz_some.module') local n = _NAME return type(m), m == zz_some", "local m = module('zz_more', package.seeall) x = 5 return m.x, _NAME, print ~= nil", "return type(require('string')), package.loaded.zz_more ~= nil",
   "return getmetatable({}), getmetatable('').__index == string, getmetatable(setmetatable({}, {__metatable = 5}))", "return getmetatable(setmetatable({}, {__metatable = false}))",
   "return tostring(setmetatable({}, {__tostring = function() return 'T' end})), ('%s'):format(setmetatable({}, {__tostring = function() return 'U' end}))",
   "return pcall(error)", "return pcall(error, nil)", "return pcall(error, {1})", "return select('#', table.unpack({}, 1, 3))", "return next({}, 'x')", "return math.fmod(-5, 3), -5 % 3, 5 % -3, 5.5 % 2, 1 % math.huge",
   "local t = setmetatable({}, {__index = function(_, k) return k end}) return t[1], t.x", "return string.format('%q', 'a\\0b\\n\"')", "local t = {5, 2, 8} table.sort(t, function(a, b) return a > b end) return table.concat(t, ' ')",
   "local f = loadstring('local a = ... ; return #a') return f'abcd', f{1}, pcall(f)", "local co = coroutine.wrap(function() local n = #setmetatable({}, {__len = function() return coroutine.yield('from len') end}) return n end) return co(), co(11)",
   "local co = coroutine.wrap(function() for k in pairs(setmetatable({}, {__pairs = function() coroutine.yield('from pairs') return next, {z = 1} end})) do return k end end) return co(), co()",
}

local function shown(value)
   local kind = type(value)
   if kind == 'table' or kind == 'function' or kind == 'thread' or kind == 'userdata' or kind == 'cdata' then return kind end
   return (tostring(value):gsub('0x%x+', 'ADDRESS'))
end

local function line(...)
   local texts = {}
   for place = 1, select('#', ...) do texts[place] = shown((select(place, ...))) end
   return table.concat(texts, ' | ')
end

for number, program in ipairs(programs) do
   local chunk, problem = loadstring(program, '=p')
   local result
   -- globals of its own, which a program may change
   if chunk then
      setfenv(chunk, setmetatable({}, { __index = _G }))
      result = line(pcall(chunk))
   else
      result = line('no program', problem)
   end
   -- LuaJIT prints one escape for all that cannot be printed
   print(('%d: %s\n   %s'):format(number, (program:gsub('[\r\n\128-\255]', '~')), (result:gsub('[\r\n]', '~'))))
end
