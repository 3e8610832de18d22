-- Images with a class for each pixel, from LabelMe's folders: Images/*, or Images/*/*, and the same below Masks.
-- nn.DataSetLabelMe: patches around pixels of each class. nn.DataSetSamplingPascal: the same within segments, which
-- are masks of 0 and 1 in the variable top_masks (height x width x segments) of Segments/*.mat.
local ffi = require 'ffi'

local Set = torch.class('nn.DataSetLabelMe')
Set.numbersOfTag = 3 -- a pixel's x, y and image

local function name_of(self) return torch.type(self):match('[^.]*$') end

local function say(self, ...) print('<' .. name_of(self) .. '> ' .. table.concat{ ... }) end

local function arguments(self, given, ...)
   xlua.unpack_class(self, given, name_of(self), 'images of LabelMe, as patches with their classes',
      { arg = 'path', type = 'string', help = 'the folder above Images and Masks', req = true },
      { arg = 'nbClasses', type = 'number', help = 'how many classes', default = 1 },
      { arg = 'classNames', type = 'table', help = 'their names', default = { 'no name' } },
      { arg = 'nbRawSamples', type = 'number', help = 'how many images; by default all' },
      { arg = 'rawSampleMaxSize', type = 'number', help = 'the longer side of an image is at most this' },
      { arg = 'rawSampleSize', type = 'table', help = 'the size of all images: {w=,h=}' },
      { arg = 'rawMaskRescale', type = 'boolean', help = 'classes in a mask are spread over 0 to 255', default = true },
      { arg = 'nbPatchPerSample', type = 'number', help = 'patches per image', default = 100 },
      { arg = 'patchSize', type = 'number', help = 'their height and width', default = 64 },
      { arg = 'samplingMode', type = 'string', help = 'random or equal, for as many of each class',
         default = 'random' },
      { arg = 'samplingFilter', type = 'table',
         help = 'how many neighbours have the same class: {ratio=,size=,step=}' },
      { arg = 'labelType', type = 'string', help = 'center or pixelwise', default = 'center' },
      { arg = 'labelGenerator', type = 'function', help = 'returns a sample, instead of labelType' },
      { arg = 'infiniteSet', type = 'boolean', help = 'any index is a sample', default = false },
      { arg = 'classToSkip', type = 'number', help = 'no patches of this class', default = 0 },
      { arg = 'preloadSamples', type = 'boolean', help = 'keeps all images in memory', default = false },
      { arg = 'cacheFile', type = 'string', help = 'the start of the names of the cache files in path' },
      { arg = 'verbose', type = 'boolean', help = 'prints the set', default = false }, ...)
end

function Set:__init(...)
   arguments(self, { ... })
   self:open()
end

function Set:open()
   self.colorMap = image.colormap(self.nbClasses)
   self.rawdata = {}
   self.currentIndex, self.currentX, self.currentY, self.realIndex = -1, 0, 0, -1
   say(self, 'loading LabelMe dataset from ', self.path)
   local folder = paths.concat(self.path, 'Images')
   for name in paths.files(folder) do
      local inner = paths.concat(folder, name)
      if paths.filep(inner) then
         self:getsizes('.', name)
      elseif name ~= '.' and name ~= '..' then
         for file in paths.iterfiles(inner) do self:getsizes(name, file) end
      end
   end

   self.nbRawSamples = self.nbRawSamples or #self.rawdata
   self.maxX, self.maxY = 0, 0
   for i = 1, self.nbRawSamples do
      local size = self.rawdata[i].size
      self.maxY, self.maxX = math.max(self.maxY, size[2]), math.max(self.maxX, size[3])
   end
   self.nbSamples = self.nbPatchPerSample * self.nbRawSamples
   local most, imposed = math.max(self.maxX, self.maxY), self.rawSampleSize
   self.rawSampleMaxSize = math.min(most,
      self.rawSampleMaxSize or (imposed and math.max(imposed.w, imposed.h)) or most)
   if self.verbose then print(tostring(self)) end

   if self.samplingMode ~= 'equal' and self.samplingMode ~= 'random' then
      error(('ERROR <%s> unknown sampling mode'):format(name_of(self)))
   end
   self:parseAllMasks()
   if self.samplingMode == 'random' then self:indexTags() end
   if self.preloadSamples then self:preload() end
end

-- The class of each number in tags, from which random indices are drawn.
function Set:indexTags()
   local classes = {}
   for class, tag in ipairs(self.tags) do
      if class ~= self.classToSkip and tag.size > 0 then
         classes[#classes + 1] = torch.ByteTensor(tag.size):fill(class)
      end
   end
   self.randomLookup = #classes > 0 and torch.cat(classes, 1) or torch.ByteTensor()
   self.nbRandomPatches = self.randomLookup:nElement()
end

-- A file's first variable in mattorch's order, in which the last of MATLAB's dimensions is the first.
local function matlab(name)
   local _, values = next(require('matio').load(name))
   local reversed = {}
   for d = 1, values:dim() do reversed[d] = values:dim() + 1 - d end
   return values:permute(unpack(reversed))
end

local function is_matlab(name) return name:find('.mat$') ~= nil end

function Set:getsizes(folder, name)
   local function file(kind, ending) return paths.concat(self.path, kind, folder, (name:gsub('jpg$', ending))) end
   local entry = { imgfile = file('Images', 'jpg'), maskfile = file('Masks', 'png'),
      annotfile = file('Annotations', 'xml') }
   if name:find('.jpg$') then
      entry.size = { image.getJPGsize(entry.imgfile) }
   elseif name:find('.png$') then
      entry.size = { image.getPNGsize(entry.imgfile) }
   elseif is_matlab(name) then
      entry.size = matlab(entry.imgfile):size():totable()
   else
      xerror('images must either be JPG, PNG or MAT files', name_of(self))
   end
   table.insert(self.rawdata, entry)
end

function Set:size() return self.nbSamples end

function Set:__tostring__()
   local lines = { name_of(self) .. ':' }
   local function add(...) lines[#lines + 1] = '  + ' .. table.concat{ ... } end
   add('path : ', self.path)
   if self.cacheFile then add('cache files : [path]/', self.cacheFile, '-[tags|samples]') end
   add('nb samples : ', self.nbRawSamples)
   add('nb generated patches : ', self.nbSamples)
   if self.infiniteSet then add('infinite set (actual nb of samples >> set:size())') end
   local most, imposed = self.rawSampleMaxSize, self.rawSampleSize
   add('samples are resized to fit in a ', most, 'x', most, ' tensor [max raw size = ', self.maxX, 'x', self.maxY, ']')
   if imposed then add('imposed ratio of ', imposed.w, 'x', imposed.h) end
   add('patches size : ', self.patchSize, 'x', self.patchSize)
   if self.classToSkip ~= 0 then add('unused class : ', self.classNames[self.classToSkip]) end
   add('sampling mode : ', self.samplingMode)
   add('label type : ', self.labelGenerator and 'generated by user function ' or self.labelType)
   add(self.nbClasses, ' categories : ', table.concat(self.classNames, ' | '))
   return table.concat(lines, '\n')
end

-- The class of sample `key`, and where in its tags it begins.
function Set:place(key)
   local numbers = self.numbersOfTag
   if self.samplingMode == 'random' then
      local class = self.randomLookup[math.random(1, self.nbRandomPatches)]
      return class, math.floor(math.random(0, self.tags[class].size - 1) / numbers) * numbers + 1
   end
   local class = (key - 1) % self.nbClasses + 1
   while self.tags[class].size == 0 or class == self.classToSkip do
      class = math.floor(torch.uniform(1, self.nbClasses))
   end
   local pixels = self.tags[class].size / numbers
   local pixel = self.infiniteSet and math.random(1, pixels) or math.floor((key - 1) / self.nbClasses) + 1
   return class, (pixel - 1) % pixels * numbers + 1
end

function Set:__index__(key)
   if type(key) ~= 'number' then return rawget(self, key) end
   local class, first = self:place(key)
   local tag, side = self.tags[class].data, self.patchSize
   local x, y = tag[first], tag[first + 1]
   self:loadSample(tag[first + 2])
   if self.numbersOfTag > 3 then self.currentSegment = tag[first + 3] end
   local picture, mask = self.currentSample, self.currentMask
   local left, top = math.floor(x - side / 2) + 1, math.floor(y - side / 2) + 1
   self.currentX, self.currentY = left / picture:size(3), top / picture:size(2)
   local patch = picture:narrow(2, top, side):narrow(3, left, side)
   local labels = mask:narrow(1, top, side):narrow(2, left, side)
   if self.labelGenerator then
      return self:labelGenerator(picture, mask, patch, labels, class, x, y, left, top, side, self.currentSegment,
         self.realIndex), true
   elseif self.labelType == 'center' then
      local target = torch.Tensor(self.nbClasses):fill(-1)
      target[class] = 1
      return { patch, target }, true
   elseif self.labelType == 'pixelwise' then
      return { patch, labels }, true
   end
   return false
end

-- The height and width that an image is brought to, if others than its own.
local function wanted_size(self, height, width)
   local imposed, most = self.rawSampleSize, self.rawSampleMaxSize
   if imposed then return imposed.h, imposed.w end
   if most >= math.max(height, width) then return end
   if width >= height then return math.floor(most * height / width), most end
   return most, math.floor(most * width / height)
end

function Set:loadSample(index)
   if index == self.currentIndex then return end
   self.currentIndex = index
   if self.preloadedDone then
      self.currentSample, self.currentMask = self.preloaded.samples[index], self.preloaded.masks[index]
      return
   end
   local files = self.rawdata[index]
   self.realIndex = files.imgfile:gsub('.jpg$', '')
   local from_matlab = is_matlab(files.imgfile)
   local picture, mask
   if from_matlab then
      picture, mask = matlab(files.imgfile):transpose(2, 3), matlab(files.maskfile):t()
   else
      picture, mask = image.load(files.imgfile), image.load(files.maskfile)[1]
   end
   local height, width = wanted_size(self, picture:size(2), picture:size(3))
   if height then
      picture = image.scale(torch.Tensor(picture:size(1), height, width), picture, 'bilinear')
      mask = image.scale(torch.Tensor(height, width), mask, 'simple')
   end
   if not from_matlab then
      mask:mul(self.rawMaskRescale and self.nbClasses - 1 or 255):add(0.5):floor():add(1)
   elseif mask:min() == 0 then
      mask:add(1)
   end
   self.currentSample, self.currentMask = picture, mask
end

-- Field `name` of the set: from the cache file, if there is one; otherwise `make` makes it, for the cache file.
local function cached(self, name, ending, make)
   local function file() return paths.concat(self.path, self.cacheFile .. ending) end
   local what = ending:sub(2)
   if self.cacheFile and paths.filep(file()) then
      say(self, 'retrieving saved ', what, ' from :', file(), ' [delete file to force new scan]')
      self[name] = torch.load(file())
      return
   end
   make()
   if self.cacheFile then
      say(self, 'saving ', what, ' to cache file: ', file())
      torch.save(file(), self[name])
   end
end

-- saveFile: names the cache file, here and in parseAllMasks.
function Set:preload(saveFile)
   cached(self, 'preloaded', '-samples', function()
      say(self, 'preloading all images')
      local samples, masks = {}, {}
      for i = 1, self.nbRawSamples do
         xlua.progress(i, self.nbRawSamples)
         self:loadSample(i)
         samples[i] = self.currentSample:type(torch.getdefaulttensortype()):clone()
         masks[i] = self.currentMask:type(torch.getdefaulttensortype()):clone()
      end
      self.preloaded = { samples = samples, masks = masks }
      self.cacheFile = saveFile or self.cacheFile
   end)
   self.preloadedDone = true
end

-- Reserves memory for the tags of another image.
function Set:reserve(tags)
   local room = math.max(self.rawSampleMaxSize ^ 2, self.currentMask:nElement()) * self.numbersOfTag
   for class = 1, self.nbClasses do
      local tag = tags[class]
      if not tag then
         tags[class] = { data = torch.ShortStorage(room), size = 0 }
      elseif tag.size + room > tag.data:size() then
         tag.data:resize(tag.size + room)
      end
   end
end

local FILTER = { ratio = 0, step = 4 }
local single = ffi.new 'float[1]'
local function rounded(number)
   single[0] = number
   return single[0]
end

-- Appends the pixels of the mask to the tags of their classes, unless a patch around one would leave the image: every
-- `step`-th in both directions; of those near them, in a square of filter.size, at least a ratio has the same class.
function Set:extract(tags, mask, step)
   local filter = self.samplingFilter or FILTER
   local ratio, reach = rounded(filter.ratio), math.floor((filter.size or self.patchSize) / 2)
   local half, height, width = math.ceil(self.patchSize / 2), mask:size(1), mask:size(2)
   if half < 1 then error(name_of(self) .. ': patchSize must be at least 1') end
   local last_x, last_y = width - half, height - half
   mask = mask:double():contiguous()
   local classes = mask:data()
   local function class_of(x, y) return math.floor(classes[(y - 1) * width + x - 1]) end

   local function enough_alike(x, y, class)
      local alike, count = 0, 0
      for near_x = math.max(1, x - reach), math.min(last_x, x + reach), filter.step do
         for near_y = math.max(1, y - reach), math.min(last_y, y + reach), filter.step do
            count = count + 1
            if class_of(near_x, near_y) == class then alike = alike + 1 end
         end
      end
      return rounded(alike / count) >= ratio
   end

   for x = half, last_x, step do
      for y = half, last_y, step do
         local class = class_of(x, y)
         local tag = tags[class]
         if not tag then
            error(('%s: class %s in %s; nbClasses is %d'):format(name_of(self), class,
               self.rawdata[self.currentIndex].maskfile, self.nbClasses))
         end
         if ratio <= 0 or enough_alike(x, y, class) then
            local data, size = tag.data, tag.size
            data[size + 1], data[size + 2], data[size + 3] = x, y, self.currentIndex
            if self.numbersOfTag > 3 then data[size + 4] = self.currentSegment end
            tag.size = size + self.numbersOfTag
         end
      end
   end
end

function Set:parseMask(tags)
   tags = tags or {}
   self:reserve(tags)
   self:extract(tags, self.currentMask, 1)
   return tags
end

function Set:parseAllMasks(saveFile)
   cached(self, 'tags', '-tags', function()
      say(self, 'parsing all masks to generate list of tags')
      local bytes = self.nbRawSamples * self.rawSampleMaxSize ^ 2 * self.numbersOfTag * 2
      say(self, 'WARNING: this operation could allocate up to ', math.ceil(bytes / 2 ^ 20), 'MB')
      self.tags = nil
      for i = 1, self.nbRawSamples do
         xlua.progress(i, self.nbRawSamples)
         self:loadSample(i)
         self.tags = self:parseMask(self.tags)
      end
      say(self, 'nb of patches extracted per category:')
      for class, tag in ipairs(self.tags) do print('  ' .. class .. ' - ' .. tag.size / self.numbersOfTag) end
      self.cacheFile = saveFile or self.cacheFile
   end)
end

-- Needs imgraph's colours, and a window.
function Set:display() require 'imgraph' end -- luacheck: ignore 212

local Segments = torch.class('nn.DataSetSamplingPascal', 'nn.DataSetLabelMe')
Segments.numbersOfTag = 4 -- also the segment

function Segments:__init(...)
   arguments(self, { ... },
      { arg = 'nbSegments', type = 'number', help = 'segments per image', default = 100 },
      { arg = 'nbSegmentsToExtract', type = 'number', help = 'segments per image that are used', default = 1 })
   self.currentSegment = 0
   self:open()
end

-- Outside its segment a pixel counts as one of class 1.
function Segments:parseMask(tags)
   tags = tags or {}
   local images = paths.concat(self.path, 'Images')
   local file = paths.concat(self.path, 'Segments') .. self.realIndex:sub(#images + 1) .. '.mat'
   local segments = require('matio').load(file, 'top_masks'):typeAs(self.currentMask)
   local step = math.ceil(math.sqrt(self.nbSegmentsToExtract))
   for segment = 1, self.nbSegmentsToExtract do
      self:reserve(tags)
      self.currentSegment = segment
      self:extract(tags, segments:select(3, segment):clone():cmul(self.currentMask - 1):add(1), step)
   end
   return tags
end
