-- The signatures of the kernels that Lua computes itself: a letter for each argument, derived from the annotations of
-- Python's kernels as in lua_compat/runtime/bridge.py. They are kept in Lua because asking Python, as for the other
-- kernels, loads PyTorch. nn adds what its declarations say of its kernels (nn/shared/declared.lua). The ones listed
-- here are torch's own: no class declares them.
return {
   correlate = 'ottibb',
   geqrf = 'oot',
   gesv = 'oott',
   inverse = 'ot',
   potrf = 'ots',
   potri = 'ots',
   potrs = 'otts',
   qr = 'oot',
   svd = 'ooots',
   symeig = 'ootss',
}
