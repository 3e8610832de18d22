-- nn.DataSet: a list of { input, output }, read from a folder of images; nn.DataList: several such sets, one for each
-- class.
local Set = torch.class('nn.DataSet')

function Set:__init(...)
   xlua.require('image', true)
   self.nbSamples = 0
   if select('#', ...) > 0 then self:load(...) end
end

function Set:size() return self.nbSamples end

function Set:__tostring__()
   return 'DataSet:\n' .. (self.nbSamples and ' + nb samples : ' .. self.nbSamples or ' + empty set...')
end

-- Opens a binary file, passes it to f, and closes it.
local function with_file(name, mode, f)
   local file = torch.DiskFile(name, mode):binary()
   f(file)
   file:close()
end

function Set:load(...)
   local _, folder, wanted, cache, channels, size = xlua.unpack({ ... }, 'DataSet.load', nil,
      { arg = 'dataSetFolder', type = 'string', help = 'path to dataset', req = true },
      { arg = 'nbSamplesRequired', type = 'number', help = 'number of patches to load', default = 'all' },
      { arg = 'cacheFile', type = 'string', help = 'path to file to cache files' },
      { arg = 'channels', type = 'number', help = 'nb of channels', default = 1 },
      { arg = 'sampleSize', type = 'table', help = 'resize all sample: {c,w,h}' },
      { arg = 'padding', type = 'boolean', help = 'center sample in w,h dont rescale' })
   self.cacheFileName = cache or self.cacheFileName
   self:emptySet()
   local name = self.cacheFileName and self.cacheFileName .. '-' .. wanted
   if name and paths.filep(name) then
      print('<DataSet> Loading samples from cached file ' .. name)
      with_file(name, 'r', function(file) self:read(file) end)
      return
   end
   self:append{ dataSetFolder = folder, channels = channels, nbSamplesRequired = wanted, sampleSize = size }
   if name then
      print('<DataSet> Dumping dataset to cache file ' .. name .. ' for fast retrieval')
      with_file(name, 'w', function(file) self:write(file) end)
   end
end

function Set:emptySet()
   for i = 1, table.getn(self) do self[i] = nil end
   self.nbSamples = 0
end

function Set:apply(f)
   print('<DataSet> Applying function to dataset')
   for i = 1, self.nbSamples do
      xlua.progress(i, self.nbSamples)
      self[i][1] = f(self[i][1])
   end
end

function Set:cropAndResize(side)
   for i = 1, self.nbSamples do
      local picture, cropped = self[i][1], torch.Tensor(1, side, side)
      local shorter = math.min(picture:size(1), picture:size(2)) -- sic: of the planes and the rows
      local x, y = math.floor((picture:size(3) - shorter) / 2), math.floor((picture:size(2) - shorter) / 2)
      image.crop(cropped, picture, x, y, x + shorter, y + shorter)
      self[i][1] = cropped
   end
end

local function add(self, input, output)
   self.nbSamples = self.nbSamples + 1
   self[self.nbSamples] = { input, output }
end

function Set:add(args) add(self, args.input, args.output) end

local KINDS = { { '%.png', 'loadPNG' }, { '%.p[pgn]m', 'loadPPM' }, { '%.jpg', 'load' } }

-- A file's image, and the numbers in its name after the first |; nothing for other files.
local function picture_of(folder, file, channels)
   for _, kind in ipairs(KINDS) do
      if file:find(kind[1]) then
         local words = sys.split(file:gsub(kind[1], ''), '|')
         table.remove(words, 1)
         local picture = image[kind[2]](paths.concat(folder, file), channels)
         return picture:resize(channels, picture:size(picture:dim() - 1), picture:size(picture:dim())), words
      end
   end
end

function Set:append(...)
   local _, folder, channels, wanted, _, _, _, size, padding = xlua.unpack({ ... }, 'DataSet:append',
      'append a folder to the dataset object',
      { arg = 'dataSetFolder', type = 'string', help = 'path to dataset', req = true },
      { arg = 'channels', type = 'number', help = 'number of channels for the image to load', default = 3 },
      { arg = 'nbSamplesRequired', type = 'number', help = 'max number of samples to load' },
      { arg = 'useLabelPiped', type = 'boolean', help = 'flag to use the filename as output value', default = false },
      { arg = 'useDirAsLabel', type = 'boolean', help = 'flag to use the directory as label', default = false },
      { arg = 'nbLabels', type = 'number', help = 'how many classes (goes with useDirAsLabel)', default = 1 },
      { arg = 'sampleSize', type = 'table', help = 'resize all sample: {c,w,h}' },
      { arg = 'padding', type = 'boolean', help = 'do we padd all the inputs in w,h' })
   print('<DataSet> Loading samples from ' .. folder .. '/')
   local files = {}
   for file in paths.files(folder) do files[#files + 1] = file end
   table.sort(files)
   local most = (wanted and wanted ~= 'all') and math.min(#files, wanted) or #files
   local loaded = 0
   for i, file in ipairs(files) do
      if loaded == most then break end
      xlua.progress(i, most)
      local picture, words = picture_of(folder, file, channels)
      if picture then
         local input = picture
         if size then
            input = torch.Tensor(channels, size[2], size[3]):zero()
            if padding then
               local down = math.floor((size[2] - picture:size(2)) / 2)
               local right = math.floor((size[3] - picture:size(3)) / 2)
               if down < 0 or right < 0 then
                  error(('DataSet:append: %s is larger than sampleSize'):format(file), 2)
               end
               input:narrow(2, down + 1, picture:size(2)):narrow(3, right + 1, picture:size(3)):copy(picture)
            else
               image.scale(input, picture, 'bilinear')
            end
         end
         local output = #words > 0 and torch.Tensor(#words, 1) or torch.Tensor()
         for k, word in ipairs(words) do output[k][1] = tonumber(word) end
         add(self, input, output)
         loaded = loaded + 1
      end
   end
end

local function copied(t) return t and t:clone() end

function Set:appendDataSet(set)
   print(('<DataSet> Merging dataset of size = %d into dataset of size = %d'):format(set:size(), self:size()))
   for i = 1, set:size() do add(self, copied(set[i][1]), copied(set[i][2])) end
end

-- Moves the last nElement samples, or a ratio of all, into another set.
function Set:popSubset(args)
   local subset, size = args.outputSet or nn.DataSet(), self:size()
   local first = args.nElement and size - args.nElement + 1 or math.floor((1 - (args.ratio or 0.1)) * size) + 1
   print(('<DataSet> Popping %d samples dataset'):format(size - first + 1))
   for i = size, first, -1 do
      add(subset, copied(self[i][1]), copied(self[i][2]))
      self[i] = nil
      self.nbSamples = self.nbSamples - 1
   end
   return subset
end

function Set:resize()
   self.resized = true
   xlua.error('not implemented yet', 'DataSet')
end

function Set:shuffle()
   if self.nbSamples == 0 then
      print('Warning, trying to shuffle empty Dataset, no effect...')
      return
   end
   for last = self.nbSamples, 3, -1 do -- sic: each may go anywhere, and the first two stay
      local k = math.random(last)
      self[last], self[k] = self[k], self[last]
   end
end

function Set:display(count, legend)
   local pictures = {}
   for i = 1, count do pictures[i] = self[i][1] end
   image.display{ image = pictures, gui = false, legend = legend }
end

function Set:useCacheFile(name) self.cacheFileName = name end

function Set:write(file)
   file:writeBool(self.resized or false)
   file:writeInt(self.nbSamples)
   for i = 1, self.nbSamples do file:writeObject(self[i]) end
end

function Set:read(file)
   self.resized, self.nbSamples = file:readBool(), file:readInt()
   for i = 1, self.nbSamples do self[i] = file:readObject() end
end

local List = torch.class('nn.DataList', 'nn.DataSet')

function List:__init()
   Set.__init(self)
   self.datasets, self.ClassName = {}, {}
   self.nbClass, self.ClassMax, self.nbSamples = 0, 0, 0
   self.targetIsProbability, self.spatialTarget = false, false
end

function List:__tostring__()
   return ('DataList:\n + nb samples : %s\n + nb classes : %s'):format(self.nbSamples, self.nbClass)
end

-- Samples of the classes in turn, each with its class's target; smaller classes repeat.
function List:__index__(key)
   if type(key) ~= 'number' or self.nbClass == 0 or key > self.nbSamples then return rawget(self, key) end
   local class = (key - 1) % self.nbClass + 1
   local set = self.datasets[class]
   local sample = set[math.floor((key - 1) / self.nbClass) % set:size() + 1]
   local target = torch.Tensor(self.nbClass):fill(self.targetIsProbability and 0 or -1)
   target[class] = 1
   sample[2] = self.spatialTarget and target:resize(self.nbClass, 1, 1) or target
   if self.hookOnSample then sample = self.hookOnSample(self, sample) end
   if torch.getdefaulttensortype() == 'torch.CudaTensor' then sample[1] = sample[1]:cuda() end
   return sample, true
end

-- A class may be added several times.
function List:appendDataSet(set, name)
   table.insert(self.datasets, set)
   local known = self.ClassName[name]
   self.ClassName[name] = (known or 0) + set:size()
   if not known then
      self.nbClass = self.nbClass + 1
      table.insert(self.ClassName, self.nbClass, name)
   end
   self.ClassMax = math.floor(math.max(self.ClassMax, self.ClassName[name]))
   self.nbSamples = self.ClassMax * self.nbClass
end
