-- jit.vmdef: the names of LuaJIT 2.1's bytecode instructions (bcnames) and of the compiler's (irnames) in the order of
-- their codes, six characters for each; by their numbers the functions of FPMATH (irfpm) and the fields of FLOAD and
-- FREF (irfield). What one build of LuaJIT numbers for itself (traceerr, ffnames, ircall) is left out.
local bytecode = [[
ISLT ISGE ISLE ISGT ISEQV ISNEV ISEQS ISNES ISEQN ISNEN ISEQP ISNEP ISTC ISFC IST ISF ISTYPE ISNUM
MOV NOT UNM LEN ADDVN SUBVN MULVN DIVVN MODVN ADDNV SUBNV MULNV DIVNV MODNV ADDVV SUBVV MULVV DIVVV MODVV POW CAT
KSTR KCDATA KSHORT KNUM KPRI KNIL UGET USETV USETS USETN USETP UCLO FNEW TNEW TDUP
GGET GSET TGETV TGETS TGETB TGETR TSETV TSETS TSETB TSETM TSETR CALLM CALL CALLMT CALLT
ITERC ITERN VARG ISNEXT RETM RET RET0 RET1 FORI JFORI FORL IFORL JFORL ITERL IITERL JITERL LOOP ILOOP JLOOP JMP
FUNCF IFUNCF JFUNCF FUNCV IFUNCV JFUNCV FUNCC FUNCCW]]

local intermediate = [[
LT GE LE GT ULT UGE ULE UGT EQ NE ABC RETF NOP BASE PVAL GCSTEP HIOP LOOP USE PHI RENAME PROF
KPRI KINT KGC KPTR KKPTR KNULL KNUM KINT64 KSLOT BNOT BSWAP BAND BOR BXOR BSHL BSHR BSAR BROL BROR
ADD SUB MUL DIV MOD POW NEG ABS LDEXP MIN MAX FPMATH ADDOV SUBOV MULOV
AREF HREFK HREF NEWREF UREFO UREFC FREF TMPREF STRREF LREF ALOAD HLOAD ULOAD FLOAD XLOAD SLOAD VLOAD ALEN
ASTORE HSTORE USTORE FSTORE XSTORE SNEW XSNEW TNEW TDUP CNEW CNEWI BUFHDR BUFPUT BUFSTR TBAR OBAR XBAR
CONV TOBIT TOSTR STRTO CALLN CALLA CALLL CALLS CALLXS CARG]]

local fields = [[
str.len func.env func.pc func.ffid thread.env tab.meta tab.array tab.node tab.asize tab.hmask tab.nomm
udata.meta udata.udtype udata.file sbuf.w sbuf.e sbuf.b sbuf.l sbuf.ref sbuf.r
cdata.ctypeid cdata.ptr cdata.int cdata.int64 cdata.int64_4]]

local function six_characters_each(names)
   return (names:gsub('%S+%s*', function(name) return ('%-6s'):format(name:match('%S+')) end))
end

local function by_number(names)
   local list, number = {}, 0
   for name in names:gmatch('%S+') do list[number], number = name, number + 1 end
   return list
end

return {
   bcnames = six_characters_each(bytecode), irnames = six_characters_each(intermediate),
   irfpm = by_number('floor ceil trunc sqrt log log2 other'), irfield = by_number(fields),
}
