-- pl.file: operations on whole files.
local dir = require 'pl.dir'
local path = require 'pl.path'
local utils = require 'pl.utils'

local file = { read = utils.readfile, write = utils.writefile, copy = dir.copyfile, move = dir.movefile,
   access_time = path.getatime, creation_time = path.getctime, modified_time = path.getmtime }

function file.delete(name) return os.remove(name) end

return file
