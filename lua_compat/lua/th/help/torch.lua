-- The prompt's help on the functions of torch: name, arguments (optional ones in brackets), a sentence. `res` is a
-- tensor for the result; most functions are also methods of tensors: x:abs(), torch.abs(x).
return [[
CmdLine ([switch]) Reads the options of a command line, and prints the help on them.
DiskFile (name, [mode, quiet]) A file; mode is 'r', 'w' or 'rw'.
File () What all files have in common.
Generator () A separate random generator.
MemoryFile ([storage, mode, quiet]) A file in memory; mode is 'r', 'w' or 'rw'.
PipeFile (command, [mode, quiet]) The output or input of a command; mode is 'r', 'w' or 'rw'.
Storage ([size, table or file]) Contiguous elements of one type; tensors are views of them.
Tensor ([sizes, table, tensor or storage]) An array of any number of dimensions.
TestSuite () A table for tests that refuses two tests of one name.
Tester () Runs tests, and counts what fails.
Timer () A stopwatch of wall and processor time, which runs at once.
abs ([res,] x) The absolute value of each element.
acos ([res,] x) The angle in radians whose cosine each element is.
add ([res,] x, [value,] y) Adds a number, or value times another tensor, to each element.
addbmm ([res,] [v1,] m, [v2,] a, b) Adds the sum of the matrix products of two batches to a matrix.
addcdiv ([res,] x, [value,] a, b) Adds value times a / b, element by element.
addcmul ([res,] x, [value,] a, b) Adds value times a * b, element by element.
addmm ([res,] [v1,] m, [v2,] a, b) Adds the product of two matrices to a matrix.
addmv ([res,] [v1,] v, [v2,] m, w) Adds the product of a matrix and a vector to a vector.
addr ([res,] [v1,] m, [v2,] v, w) Adds the outer product of two vectors to a matrix.
all (x) Whether every element of a ByteTensor is nonzero.
any (x) Whether any element of a ByteTensor is nonzero.
asin ([res,] x) The angle in radians whose sine each element is.
atan ([res,] x) The angle in radians whose tangent each element is.
atan2 ([res,] y, x) The angle of the point (x, y), element by element, in the right quadrant.
baddbmm ([res,] [v1,] m, [v2,] a, b) Adds the matrix products of two batches to a batch of matrices.
bernoulli ([res,] p) Ones with probability p, zeros otherwise; p may be a tensor.
bhistc ([res,] x, [bins, min, max]) Counts the elements of each row in equal bins.
bitand ([res,] x, value) Bitwise and of each element with a number.
bitor ([res,] x, value) Bitwise or of each element with a number.
bitxor ([res,] x, value) Bitwise exclusive or of each element with a number.
bmm ([res,] a, b) The matrix products of two batches, one by one.
cat ([res,] a, b, [dimension]) Joins tensors along a dimension; a table of tensors may stand for them.
cauchy ([generator,] [median, sigma]) One number drawn from a Cauchy distribution.
cbitand ([res,] x, y) Bitwise and of two tensors, element by element.
cbitor ([res,] x, y) Bitwise or of two tensors, element by element.
cbitxor ([res,] x, y) Bitwise exclusive or of two tensors, element by element.
cdata (object) The address of the C structure behind an object.
cdiv ([res,] x, y) Divides two tensors, element by element.
ceil ([res,] x) The smallest whole number that is not below each element.
cfmod ([res,] x, y) The remainder with the sign of x, element by element.
chunk (x, n, [dimension]) Cuts a tensor into at most n parts along a dimension, without copying.
cinv ([res,] x) One divided by each element.
clamp ([res,] x, min, max) Limits each element to the range between two bounds.
class (name, [parent]) Makes a class that can be saved and printed; returns its metatable, and the parent's.
clshift ([res,] x, y) Shifts the bits of each element to the left by those of another tensor.
cmax ([res,] x, y) The larger of two elements, or of an element and a number.
cmin ([res,] x, y) The smaller of two elements, or of an element and a number.
cmod ([res,] x, y) The remainder with the sign of x, element by element.
cmul ([res,] x, y) Multiplies two tensors, element by element.
conv2 ([res,] x, kernel, ['F' or 'V']) Two-dimensional convolution, full or of the valid part.
conv3 ([res,] x, kernel, ['F' or 'V']) Three-dimensional convolution, full or of the valid part.
cos ([res,] x) The cosine of each element.
cosh ([res,] x) The hyperbolic cosine of each element.
cpow ([res,] x, y) Raises each element to the power of another tensor's.
cremainder ([res,] x, y) The remainder with the sign of y, element by element.
cross ([res,] a, b, [dimension]) The vector product along a dimension of size 3.
crshift ([res,] x, y) Shifts the bits of each element to the right by those of another tensor.
csub ([res,] x, [value,] y) Subtracts a number, or value times another tensor.
cumprod ([res,] x, [dimension]) Products of all elements up to each index of a dimension.
cumsum ([res,] x, [dimension]) Sums of all elements up to each index of a dimension.
data (x, [as_number]) A pointer to the elements, for LuaJIT's FFI.
deserialize (text, [format]) Reads an object from a string that serialize wrote.
deserializeFromStorage (storage, [format]) Reads an object from a CharStorage that serializeToStorage wrote.
diag ([res,] x, [k]) The k-th diagonal of a matrix, or a matrix with a vector on its diagonal.
dist (x, y, [p]) The p-norm of the difference of two tensors.
div ([res,] x, value) Divides each element by a number.
dot (x, y) The sum of the products of two tensors' elements.
eig ([e, v,] m, ['N' or 'V']) Eigenvalues, and on demand eigenvectors, of a square matrix.
eq ([res,] x, y) Ones where two tensors, or a tensor and a number, are equal.
equal (x, y) Whether two tensors have the same sizes and elements.
exp ([res,] x) The exponential function of each element.
expand ([res,] x, sizes) Repeats dimensions of size 1 without copying.
expandAs ([res,] x, y) Repeats dimensions of size 1 to the sizes of another tensor, without copying.
exponential ([generator,] [lambda]) One number drawn from an exponential distribution.
eye ([res,] n, [m]) A matrix with ones on its diagonal.
factory (name) The function that makes an empty object of a class, as a file is read.
fill (x, value) Sets every element to a number.
floor ([res,] x) The largest whole number that is not above each element.
fmod ([res,] x, value) The remainder of a division by a number, with the sign of x.
frac ([res,] x) The fractional part of each element.
gather ([res,] x, dimension, index) Picks elements along a dimension by a tensor of indices.
ge ([res,] x, y) Ones where x is not below a tensor or number.
gels ([res, r,] b, a) Solves a linear least-squares problem by a QR or LQ decomposition.
geometric ([generator,] p) One number drawn from a geometric distribution.
geqrf ([res, tau,] m) The QR decomposition as LAPACK keeps it.
ger ([res,] v, w) The outer product of two vectors.
gesv ([x, lu,] b, a) Solves the linear equations a x = b.
getRNGState ([generator]) The whole state of the random generator as a ByteTensor.
getconstructortable (name) The table that holds the constructor of a class.
getdefaulttensortype () The name of the type that torch.Tensor makes.
getenv (name) The value of a variable of the environment.
getmetatable (name) The metatable of a class by its name.
getnumcores () The number of processor cores.
getnumthreads () The number of threads that operations use.
gt ([res,] x, y) Ones where x is above a tensor or number.
histc ([res,] x, [bins, min, max]) Counts elements in equal bins between two bounds.
include (file) Runs a Lua file in the folder of the calling file.
initialSeed ([generator]) The seed that the generator was started with.
inverse ([res,] m) The inverse of a square matrix.
isStorage (object) Whether an object is a storage.
isequal (a, b) Whether two are the same object.
isTensor (object) Whether an object is a tensor.
isTypeOf (object, class) Whether an object belongs to a class or to one that inherits from it.
isatty (file) Whether a file is a terminal.
kthvalue ([values, indices,] x, k, [dimension]) The k-th smallest elements along a dimension, and their indices.
le ([res,] x, y) Ones where x is not above a tensor or number.
lerp ([res,] x, y, weight) A point between two tensors: x + weight * (y - x).
linspace ([res,] from, to, [n]) n equally spaced numbers, both ends included.
load (file, [format, reference]) Reads an object from a file that torch.save wrote.
loadobj (file) Reads an object from a file, as torch.load does.
log ([res,] x) The natural logarithm of each element.
log1p ([res,] x) The logarithm of 1 + x, exact for small x.
logNormal ([generator,] [mean, stdv]) One number whose logarithm is normally distributed.
logspace ([res,] from, to, [n]) n powers of ten with equally spaced exponents.
lshift ([res,] x, value) Shifts the bits of each element to the left.
lt ([res,] x, y) Ones where x is below a tensor or number.
manualSeed ([generator,] seed) Seeds the random generator, for repeatable runs.
match (m1, m2, factor) Distances of all rows of two matrices, times a factor.
max ([values, indices,] x, [dimension]) The largest element, or along a dimension the largest ones and their indices.
mean ([res,] x, [dimension]) The mean of all elements, or along a dimension.
median ([values, indices,] x, [dimension]) The (lower) median along a dimension, and its index.
metatype (name, metatable) Ties a metatable to a class of C objects.
min ([values, indices,] x, [dimension]) The smallest element, or along a dimension the smallest ones and their indices.
mm ([res,] a, b) The product of two matrices.
mod ([res,] x, value) The remainder of a division by a number.
mode ([values, indices,] x, [dimension]) The most frequent element along a dimension, and its index.
mul ([res,] x, value) Multiplies each element by a number.
multinomial ([res,] p, n, [with_replacement]) Draws n indices with probabilities proportional to p.
multinomialAlias ([res,] state) Draws indices from the tables of multinomialAliasSetup.
multinomialAliasSetup (p, [state]) Prepares fast draws of indices with probabilities p.
multinomialAliasSetup_ (p, state) Does the work of multinomialAliasSetup.
multinomialAlias_ (res, state) Does the work of multinomialAlias.
mv ([res,] m, v) The product of a matrix and a vector.
ne ([res,] x, y) Ones where two tensors, or a tensor and a number, differ.
neg ([res,] x) Each element with the opposite sign.
newmetatable (name, [parent, constructor, destructor, factory]) Makes the metatable of a class.
nonzero ([res,] x) The indices of all elements that are not zero, a row for each.
norm ([res,] x, [p, dimension]) The p-norm of all elements, or along a dimension.
normal ([generator,] [mean, stdv]) One normally distributed number.
numel (x) The number of elements.
ones ([res,] sizes) A tensor of ones.
orgqr ([res,] m, tau) The orthogonal matrix of a decomposition by geqrf.
ormqr ([res,] m, tau, c, [side, trans]) Multiplies a matrix by the orthogonal one of geqrf.
packageLuaPath (name) The folder that a package was loaded from.
permute (x, dimensions) The dimensions in another order, without copying.
pointer (object) The address of an object as a number.
potrf ([res,] m, ['U' or 'L']) The Cholesky factor of a positive definite matrix.
potri ([res,] factor, ['U' or 'L']) The inverse of a matrix from its Cholesky factor.
potrs ([res,] b, factor, ['U' or 'L']) Solves linear equations with a Cholesky factor.
pow ([res,] x, n) Raises each element to a power, or a number to the powers in a tensor.
prod ([res,] x, [dimension]) The product of all elements, or along a dimension.
pstrf ([res, pivots,] m, ['U' or 'L']) The Cholesky factor with pivots of a positive semidefinite matrix.
qr ([q, r,] m) The QR decomposition of a matrix.
rand ([res,] [generator,] sizes) Uniformly distributed numbers from 0 up to 1.
randn ([res,] [generator,] sizes) Normally distributed numbers of mean 0 and variance 1.
random ([generator,] [from, to]) One uniformly distributed whole number between two bounds.
randperm ([res,] [generator,] n) The whole numbers from 1 to n in a random order.
range ([res,] from, to, [step]) The numbers from one bound up to the other.
remainder ([res,] x, value) The remainder of a division, with the sign of the divisor.
renorm ([res,] x, p, dimension, most) Shrinks each part of a dimension to a p-norm of at most ``most``.
repeatTensor ([res,] x, times) Copies a tensor so many times along each dimension.
reshape ([res,] x, sizes) The same elements in other sizes, copied.
round ([res,] x) The whole number nearest to each element.
rshift ([res,] x, value) Shifts the bits of each element to the right.
rsqrt ([res,] x) One divided by the square root of each element.
save (file, object, [format, reference]) Writes an object with everything in it to a file.
saveobj (file, object) Writes an object to a file, as torch.save does.
scatter (x, dimension, index, values) Writes values to indices along a dimension.
scatterAdd (x, dimension, index, values) Adds values at indices along a dimension.
seed ([generator]) Seeds the random generator with an unpredictable number, and returns it.
serialize (object, [format]) An object as a string.
serializeToStorage (object, [format]) An object as a CharStorage.
setRNGState ([generator,] state) Sets the whole state of the random generator.
setdefaulttensortype (name) Chooses the type that torch.Tensor makes.
setenv (name, value) Sets a variable of the environment.
setheaptracking (on) Tells Lua's collector about the memory of tensors; no effect here.
setmetatable (object, name) Makes a table an object of a class.
setnumthreads (n) Chooses how many threads operations use.
sigmoid ([res,] x) 1 / (1 + exp(-x)) of each element.
sign ([res,] x) -1, 0 or 1, the sign of each element.
sin ([res,] x) The sine of each element.
sinh ([res,] x) The hyperbolic sine of each element.
sort ([values, indices,] x, [dimension, descending]) Sorts along a dimension; also says where each element was.
split ([res,] x, size, [dimension]) Cuts a tensor into parts of one size along a dimension, without copying.
sqrt ([res,] x) The square root of each element.
squeeze ([res,] x, [dimension]) Removes the dimensions of size 1.
std ([res,] x, [dimension, biased]) The standard deviation of all elements, or along a dimension.
sum ([res,] x, [dimension]) The sum of all elements, or along a dimension.
svd ([u, s, v,] m, ['S' or 'A']) The singular value decomposition of a matrix.
symeig ([e, v,] m, ['N' or 'V', 'U' or 'L']) Eigenvalues, and on demand eigenvectors, of a symmetric matrix.
tan ([res,] x) The tangent of each element.
tanh ([res,] x) The hyperbolic tangent of each element.
tic () Starts a stopwatch; returns the time.
toc (start) The seconds since tic returned ``start``.
topk ([values, indices,] x, k, [dimension, descending, sorted]) The k smallest or largest elements along a dimension.
totable (x) The elements of a tensor or storage as a Lua table.
trace (m) The sum of the diagonal of a matrix.
tril ([res,] m, [k]) The part of a matrix on and below its k-th diagonal.
triu ([res,] m, [k]) The part of a matrix on and above its k-th diagonal.
trtrs ([x,] b, a, ['U' or 'L', 'N' or 'T', 'N' or 'U']) Solves linear equations with a triangular matrix.
trunc ([res,] x) Each element without what is behind the point.
type (object) The name of an object's class, or its Lua type.
typename (object) The name of an object's class; nil for what is of none.
uniform ([generator,] [from, to]) One number drawn evenly between two bounds.
updateerrorhandlers () Passes errors of C code on to Lua in this thread; no effect here.
updatethreadlocals () Sets up what each thread keeps of its own; no effect here.
var ([res,] x, [dimension, biased]) The variance of all elements, or along a dimension.
version () The version of torch that this one follows.
view ([res,] x, sizes) The same elements in other sizes, without copying; one size may be -1.
viewAs ([res,] x, y) The same elements in the sizes of another tensor, without copying.
xcorr2 ([res,] x, kernel, ['F' or 'V']) Two-dimensional cross-correlation, full or of the valid part.
xcorr3 ([res,] x, kernel, ['F' or 'V']) Three-dimensional cross-correlation, full or of the valid part.
zero (x) Sets every element to 0.
zeros ([res,] sizes) A tensor of zeros.
]]
