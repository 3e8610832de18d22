-- The package md5: the MD5 digest of a string, as bytes (sum) or in hexadecimal (sumhexa).
local python = require('th.python').functions

local md5 = {}

function md5.sumhexa(text) return python.md5_of(tostring(text)) end

function md5.sum(text)
   return (md5.sumhexa(text):gsub('%x%x', function(digits) return string.char(tonumber(digits, 16)) end))
end

return md5
