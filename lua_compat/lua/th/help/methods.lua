-- The prompt's help on methods, by class: arguments (optional ones in brackets; none if they are read from the code),
-- and a sentence. Tensors and storages are listed without their element type.
return [[
Tensor.new ([sizes, tensor or storage]) A new tensor of the same type.
Tensor.apply (f) Calls a function with each element, and keeps what it returns.
Tensor.byte () The elements as a ByteTensor.
Tensor.char () The elements as a CharTensor.
Tensor.clone () A copy with its own elements.
Tensor.contiguous () The tensor itself if its elements are contiguous, otherwise a contiguous copy.
Tensor.copy (y) Copies the elements of another tensor with as many elements, of any type.
Tensor.dim () The number of dimensions.
Tensor.double () The elements as a DoubleTensor.
Tensor.elementSize () The bytes of an element.
Tensor.float () The elements as a FloatTensor.
Tensor.free () Gives up a reference that retain took; no effect here.
Tensor.half () The elements as a HalfTensor.
Tensor.index ([res,] dimension, indices) Those slices along a dimension that a LongTensor names, copied.
Tensor.indexAdd (dimension, indices, y) Adds slices of a tensor to the slices that a LongTensor names.
Tensor.indexCopy (dimension, indices, y) Copies slices of a tensor to the indices that a LongTensor names.
Tensor.indexFill (dimension, indices, value) Sets the slices that a LongTensor names to a number.
Tensor.int () The elements as an IntTensor.
Tensor.isContiguous () Whether the elements are contiguous.
Tensor.isSameSizeAs (y) Whether two tensors have the same sizes.
Tensor.isSetTo (y) Whether two tensors are the same view of one storage.
Tensor.isSize (sizes) Whether the tensor has the sizes of a LongStorage.
Tensor.long () The elements as a LongTensor.
Tensor.map (y, f) Calls a function with the elements of two tensors, and keeps what it returns.
Tensor.map2 (y, z, f) Calls a function with the elements of three tensors, and keeps what it returns.
Tensor.maskedCopy (mask, y) Copies elements to where a ByteTensor is 1.
Tensor.maskedFill (mask, value) Sets the elements where a ByteTensor is 1 to a number.
Tensor.maskedSelect ([res,] mask) The elements where a ByteTensor is 1, as a vector.
Tensor.nDimension () The number of dimensions.
Tensor.nElement () The number of elements.
Tensor.narrow (dimension, first, size) Part of a dimension, without copying.
Tensor.read (file) Reads the tensor from a file of Torch7.
Tensor.real () The elements in the type of this tensor.
Tensor.resize (sizes) Changes the sizes; a storage that is too small grows, with uninitialised elements.
Tensor.resizeAs (y) Changes the sizes to those of another tensor.
Tensor.retain () Takes a reference; no effect here.
Tensor.select (dimension, index) One slice of a dimension, without copying.
Tensor.set ([tensor or storage, offset, sizes, strides]) Makes the tensor a view of other elements.
Tensor.short () The elements as a ShortTensor.
Tensor.size ([dimension]) The size of a dimension, or all of them.
Tensor.storage () The storage that the tensor is a view of.
Tensor.storageOffset () The position of the first element in the storage.
Tensor.stride ([dimension]) How far apart the elements of a dimension lie in the storage, or of all.
Tensor.sub (first, last, [more pairs]) A range of each dimension, without copying; negative positions count from the end.
Tensor.t () The transposed matrix, without copying.
Tensor.transpose (dimension1, dimension2) Two dimensions exchanged, without copying.
Tensor.type ([type]) The name of the type, or the elements in another.
Tensor.typeAs (y) The elements in the type of another tensor.
Tensor.unfold (dimension, size, step) All windows along a dimension, as one dimension more, without copying.
Tensor.write (file) Writes the tensor to a file of Torch7.
Tensor.data () The address of the first element, for LuaJIT's ffi.
Tensor.cdata () The tensor as an object of C, for LuaJIT's ffi.
Tensor.totable () The elements as a Lua table, nested as the dimensions are.
Tensor.string ([text]) The elements as characters, or sets them to those of a text.
Storage.new ([size, table or storage]) A new storage of the same type.
Storage.copy (y) Copies the elements of another storage with as many elements.
Storage.cdata () The storage as an object of C, for LuaJIT's ffi.
Storage.data () The address of the first element, for LuaJIT's ffi.
Storage.elementSize () The bytes of an element.
Storage.fill (value) Sets every element to a number.
Storage.free () Gives up a reference that retain took; no effect here.
Storage.read (file) Reads the storage from a file of Torch7.
Storage.resize (size) Changes the number of elements; new ones are uninitialised.
Storage.retain () Takes a reference; no effect here.
Storage.size () The number of elements.
Storage.string ([text]) The elements as characters, or sets them to those of a text.
Storage.totable () The elements as a Lua table.
Storage.write (file) Writes the storage to a file of Torch7.
File.new ([name or storage, mode, quiet]) Opens another file of the same class.
File.ascii () Writes and reads numbers as text from now on.
File.autoSpacing () Puts spaces and line ends between the numbers of a text file.
File.bigEndianEncoding () Writes and reads binary numbers with their highest byte first.
File.binary () Writes and reads numbers as their bytes from now on.
File.clearError () Forgets the last error of a quiet file.
File.close () Closes the file.
File.hasError () Whether the last operation of a quiet file failed.
File.isAutoSpacing () Whether spaces and line ends are put between numbers.
File.isBigEndianCPU () Whether this processor has the highest byte of a number first.
File.isBinary () Whether numbers are written as their bytes.
File.isLittleEndianCPU () Whether this processor has the lowest byte of a number first.
File.isQuiet () Whether errors are kept for hasError and not raised.
File.isReadable () Whether the file was opened for reading.
File.isReferenced () Whether an object that occurs twice is written once.
File.isWritable () Whether the file was opened for writing.
File.isWritableObject (object) Whether an object can be written.
File.littleEndianEncoding () Writes and reads binary numbers with their lowest byte first.
File.longSize ([size]) The bytes of a long in a binary file, or sets them: 0, 4 or 8.
File.nativeEndianEncoding () Writes and reads binary numbers as this processor has them.
File.noAutoSpacing () Puts nothing between the numbers of a text file.
File.noBuffer () Writes everything at once to the disk.
File.pedantic () Raises errors, which is what files do unless they were opened quiet.
File.position () The position, from 1, at which the file is read or written next.
File.quiet () Keeps errors for hasError and does not raise them.
File.readBool () Reads true or false.
File.readByte ([n or storage]) Reads bytes: one, n, or as many as a storage takes.
File.readChar ([n or storage]) Reads signed bytes: one, n, or as many as a storage takes.
File.readDouble ([n or storage]) Reads doubles: one, n, or as many as a storage takes.
File.readFloat ([n or storage]) Reads floats: one, n, or as many as a storage takes.
File.readHalf ([n or storage]) Reads half-precision numbers: one, n, or as many as a storage takes.
File.readInt ([n or storage]) Reads whole numbers of 4 bytes: one, n, or as many as a storage takes.
File.readLong ([n or storage]) Reads whole numbers of 8 bytes: one, n, or as many as a storage takes.
File.readObject () Reads whatever writeObject wrote.
File.readShort ([n or storage]) Reads whole numbers of 2 bytes: one, n, or as many as a storage takes.
File.readString (format) Reads a line with "*l", or all that is left with "*a".
File.referenced (on) Chooses whether an object that occurs twice is written once.
File.seek (position) Goes to a position, counted from 1.
File.seekEnd () Goes to the end.
File.storage () The CharStorage that a file in memory is.
File.synchronize () Writes to the disk what is still in memory.
File.writeBool (value) Writes true or false.
File.writeByte (value or storage) Writes bytes.
File.writeChar (value or storage) Writes signed bytes.
File.writeDouble (value or storage) Writes doubles.
File.writeFloat (value or storage) Writes floats.
File.writeHalf (value or storage) Writes half-precision numbers.
File.writeInt (value or storage) Writes whole numbers of 4 bytes.
File.writeLong (value or storage) Writes whole numbers of 8 bytes.
File.writeObject (object) Writes tables, tensors, modules and functions so that readObject gives them back.
File.writeShort (value or storage) Writes whole numbers of 2 bytes.
File.writeString (text) Writes a text.
Timer.new () A new stopwatch, which runs.
Timer.read (file) Reads the stopwatch from a file of Torch7.
Timer.reset () Begins again at 0.
Timer.resume () Continues after a stop.
Timer.stop () Stops.
Timer.time () A table of the seconds so far: real, user and sys.
Timer.write (file) Writes the stopwatch to a file of Torch7.
Generator.new () A new random generator.
Generator.read (file) Reads the generator from a file of Torch7.
Generator.write (file) Writes the generator to a file of Torch7.
CmdLine.new ([switch]) A new reader of the command line.
CmdLine.addTime ([name, format]) Puts the time before each line that is logged.
CmdLine.argument (name, [help, type]) Asks for an argument that must be there.
CmdLine.default () The values of all options where none is given.
CmdLine.error (text) Prints a text and the help, and ends the script.
CmdLine.help (arguments) Prints what options there are.
CmdLine.log (file, [parameters]) Writes what is printed from now on to a file, too.
CmdLine.option (name, default, [help, type]) Describes an option.
CmdLine.parse (arguments) The values of all options, as the command line gives them.
CmdLine.silent () Logs to the file only, and prints nothing.
CmdLine.string (prefix, parameters, [ignored]) A name for a run from the options that are not the default.
CmdLine.text ([text]) A line of the help.
Tester.new () A new collection of tests.
Tester.add (test, [name]) Adds a function, or a table of functions, as tests.
Tester.assert (condition, [message]) Counts a failure unless the condition holds.
Tester.assertError (f, [message]) Counts a failure unless a function raises an error.
Tester.assertErrorMsg (f, expected, [message]) Counts a failure unless a function raises an error with this text.
Tester.assertErrorObj (f, comparison, [message]) Counts a failure unless comparison accepts what a function raises.
Tester.assertErrorPattern (f, pattern, [message]) Counts a failure unless a function's error matches a pattern.
Tester.assertGeneralEq (a, b, [tolerance, message]) Counts a failure unless two values of any kind are equal.
Tester.assertGeneralNe (a, b, [tolerance, message]) Counts a failure if two values of any kind are equal.
Tester.assertNoError (f, [message]) Counts a failure if a function raises an error.
Tester.assertTableEq (a, b, [tolerance, message]) Counts a failure unless two tables are equal.
Tester.assertTableNe (a, b, [tolerance, message]) Counts a failure if two tables are equal.
Tester.assertTensorEq (a, b, [tolerance, message]) Counts a failure unless two tensors are equal up to a tolerance.
Tester.assertTensorNe (a, b, [tolerance, message]) Counts a failure if two tensors are equal up to a tolerance.
Tester.assertalmosteq (a, b, [tolerance, message]) Counts a failure unless two numbers are equal up to a tolerance.
Tester.asserteq (a, b, [message]) Counts a failure unless a == b.
Tester.assertge (a, b, [message]) Counts a failure unless a >= b.
Tester.assertgt (a, b, [message]) Counts a failure unless a > b.
Tester.assertle (a, b, [message]) Counts a failure unless a <= b.
Tester.assertlt (a, b, [message]) Counts a failure unless a < b.
Tester.assertne (a, b, [message]) Counts a failure unless a ~= b.
Tester.disable (names) Skips tests.
Tester.eq (a, b, [tolerance, message]) Counts a failure unless two values of any kind are equal.
Tester.ne (a, b, [tolerance, message]) Counts a failure if two values of any kind are equal.
Tester.run ([names]) Runs the tests, and prints what failed.
Tester.setEarlyAbort (on) Chooses whether the first failure ends the run.
Tester.setRethrowErrors (on) Chooses whether errors in tests are raised again.
Tester.setSummaryOnly (on) Chooses whether only counts are printed.
Module.accGradParameters Adds the gradients of the parameters to the existing ones, times a scale.
Module.accUpdateGradParameters Changes the parameters at once by their gradients times a learning rate.
Module.apply Calls a function with this module and all modules in it.
Module.backward Computes the gradient of the input, and adds the gradients of the parameters.
Module.backwardUpdate Computes the gradient of the input, and changes the parameters at once.
Module.clearState Drops buffers and results, so that the module takes little space in a file.
Module.clone ([names]) A copy; it shares the parameters whose names are given.
Module.cuda () Moves the module to the GPU.
Module.defaultAccUpdateGradParameters Changes the parameters by their gradients, without the layer's own shortcut.
Module.double () Makes parameters and buffers DoubleTensors.
Module.evaluate Switches to evaluation: dropout and batch normalization behave differently.
Module.findModules All modules of a class in this one, and the containers that hold them.
Module.flatten Makes parameters parts of one storage.
Module.float () Makes parameters and buffers FloatTensors.
Module.forward The output for an input, by updateOutput.
Module.getParameters All parameters as one vector and all gradients as another; the module's tensors become views of them.
Module.listModules All modules in this one, and itself.
Module.new (arguments) A new module of this class.
Module.noBias Removes the bias.
Module.parameters A table of the parameters and one of their gradients.
Module.read (file) Reads the module from a file of Torch7.
Module.replace Calls a function with each module, and puts what it returns in its place.
Module.reset ([stdv]) Draws the parameters again.
Module.share (other, names) Makes parameters those of another module of the same form.
Module.sharedAccUpdateGradParameters Changes parameters that are shared by their gradients.
Module.training Switches to training: dropout and batch normalization behave differently.
Module.type The type of the tensors, or makes them another.
Module.updateAddBuffer Prepares the ones that add the bias to each sample.
Module.updateGradInput (input, gradOutput) Computes the gradient of the input from that of the output.
Module.updateOutput (input) Computes the output from the input.
Module.updateParameters (learningRate) Changes the parameters by their gradients times a learning rate.
Module.write (file) Writes the module to a file of Torch7.
Module.zeroGradParameters () Sets the gradients of the parameters to 0.
Module.empty Drops buffers and results.
Module.checkInputDim Raises an error if the input has the wrong number of dimensions.
Module.reshapeInput Brings the input into the form that the kernels take.
Module.setp Changes the probability of dropping.
Module.setNumInputDims Tells how many dimensions a sample has, so that more are a batch.
Module.setPadding Chooses the index whose output is 0.
Module.ceil Rounds the size of the output up.
Module.floor Rounds the size of the output down.
Module.setCountIncludePad Counts the padding in averages.
Module.setCountExcludePad Excludes the padding from averages.
Module.resetSize (sizes) Changes the sizes of the view.
Module.setParams Sets the windows' sizes and steps.
Module.accumulate Adds up a gradient over the batch, for one parameter for all samples.
Module.decayParameters Makes the weights smaller by a share of them.
Module.windowNarrow The part of the output that one module's output fills.
Module.initSampleBuffer_ Draws the random positions of the windows.
Module.getBufferSize_ How many random numbers the windows of a batch need.
Module.getOutputSizes_ The size of the output for an input.
Module.fixPoolingRegions Keeps the random windows from now on.
Module.newId A number that tells this module from the others.
Module.recursiveIsNaN Whether there is a NaN in a tensor or a table of them.
Module.flattenInputs Joins the tables of a sparse batch into vectors.
Module.setDevice Chooses the GPU.
Module.setLambda Chooses what the gradient is multiplied by.
Module.setMaxNorm Limits the norm of each row that is looked up.
Module.setNormType Chooses the norm that setMaxNorm limits.
Module.scaleGradByFreq Divides gradients by how often a row occurs in the batch.
Module.accUpdateOnly Keeps no gradients: parameters change in accUpdateGradParameters only.
Module.renorm Makes rows smaller whose norm is beyond the limit.
Module.setPartition Chooses which outputs are computed.
Module.resetPartition Computes all outputs again.
Module.initFromWeight Computes length and direction of the weights.
Module.updateWeight Computes the weights from length and direction.
Module.updateWeightMatrix Computes the weights from length and direction.
Module.permuteIn Brings the weights' output dimension to the front.
Module.permuteOut Brings the weights' output dimension back.
Module.resetInit Draws the weights again.
Module.fromLinear A layer of this class with the weights of an nn.Linear.
Module.toLinear An nn.Linear with the weights of this layer.
Module.initRandom Chooses random samples as centres.
Module.initKmeansPlus Chooses centres that lie far apart.
Container.add Puts a module behind the others.
Container.get The module at a place.
Container.size The number of modules.
Container.applyToModules Calls a function with each module of the container.
Container.rethrowErrors (module, place, method, arguments) Calls a method of a module, and names the module in its errors.
Sequential.insert Puts a module at a place.
Sequential.remove Takes the module at a place out.
MapTable.resize Makes so many copies of the module.
MapTable.remove Takes the copies of the module out.
Decorator.decorate Makes a module's methods those of the one in it.
Convert.transpose Exchanges dimensions.
Convert.findAxis The place of a letter in a format.
Convert.buildConverter Makes the function that brings one format into the other.
Convert.default The format of a tensor of so many dimensions.
Convert.b The conversion to a batch of single numbers.
Convert.bf The conversion to a batch of features.
Convert.bt The conversion to a batch of texts.
Criterion.backward The gradient of the loss with respect to the input.
Criterion.clearState Drops buffers and results.
Criterion.clone A copy.
Criterion.cuda Moves the criterion to the GPU.
Criterion.cudaDouble Moves the criterion to the GPU, in doubles.
Criterion.cudaHalf Moves the criterion to the GPU, in half precision.
Criterion.double Makes buffers DoubleTensors.
Criterion.float Makes buffers FloatTensors.
Criterion.forward The loss of an input and a target, by updateOutput.
Criterion.new (arguments) A new criterion of this class.
Criterion.type The type of the tensors, or makes them another.
Criterion.updateGradInput Computes the gradient of the loss with respect to the input.
Criterion.updateOutput Computes the loss of an input and a target.
Criterion.add Adds a criterion with a weight.
Criterion.getPredictions The place of each sample in the simplex.
Criterion.getTopPrediction The most likely class of each sample.
StochasticGradient.train Trains the module on a data set, sample by sample.
StochasticGradient.new (arguments) A new trainer.
]]
