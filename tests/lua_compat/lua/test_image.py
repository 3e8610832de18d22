"""The package image under our th."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from lua_compat import run, t7
from lua_compat.kernels.image.pictures import image_read_file, image_read_ppm
from lua_compat.runtime.errors import LuaError
from tests.helpers import commands
from tests.helpers.lua_golden import differences
from tests.helpers.places import GOLDEN

PACKAGES = GOLDEN / "packages"


def run_lua(tmp_path: Path, code: str, *args: str) -> None:
    """Runs Lua that asserts what it expects."""
    commands.run_lua(tmp_path, "require 'image'\n" + code, *args)


def test_recorded_results(tmp_path: Path) -> None:
    """Images of doubles, floats and bytes as Torch7's C code makes them; bytes exactly."""
    out = tmp_path / "out.t7"
    assert run(PACKAGES / "probe_image.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / "image.t7").array(), t7.load(out).array()
    assert len(expected) == len(got) == 260
    for a, b in zip(expected, got, strict=True):
        assert not list(differences(a, b, 2e-6)), a["name"]


def test_recorded_floats_to_the_last_bit(tmp_path: Path) -> None:
    """Where Torch7's C code goes through double precision, and where it rounds."""
    out = tmp_path / "out.t7"
    assert run(PACKAGES / "probe_image_rounding.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / "image_rounding.t7").array(), t7.load(out).array()
    assert len(expected) == len(got) == 25
    for a, b in zip(expected, got, strict=True):
        assert not list(differences(a, b, 0)), a["name"]


def test_png_and_jpeg(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    (tmp_path / "words").write_text("neither")
    run_lua(
        tmp_path,
        """
        torch.manualSeed(1)
        local picture = torch.rand(3, 20, 30)
        local smooth = image.scale(torch.rand(3, 4, 5), 30, 20)
        for _, name in ipairs{ 'a.png', 'a.jpg', 'a.ppm' } do
           local path = arg[1] .. '/' .. name
           image.save(path, name == 'a.jpg' and smooth or picture)
           local size = image.getSize(path)
           assert(size[1] == 3 and size[2] == 20 and size[3] == 30, name)
        end
        local bytes = (picture * 255):byte()
        local function same(a, b) return (a:double() - b:double()):abs():max() == 0 end
        for _, name in ipairs{ 'a.png', 'a.ppm' } do
           local path = arg[1] .. '/' .. name
           assert(same(image.load(path, 3, 'byte'), bytes), name)
           assert((image.load(path) * 255 - bytes:double()):abs():max() < 1e-9)
           assert(image.load(path, 3, 'float'):type() == 'torch.FloatTensor')
           assert(image.load(path, 1):dim() == 2)
        end
        assert((image.load(arg[1] .. '/a.jpg') - smooth):abs():mean() < 0.06)
        assert(same(image.decompress(image.compressPNG(picture), 3, 'byte'), bytes))
        local small, large = image.compressJPG(smooth, 20), image.compressJPG(smooth, 95)
        assert(small:type() == 'torch.ByteTensor' and small:size(1) < large:size(1))
        assert((image.decompressJPG(large) - smooth):abs():mean() < 0.06)

        -- one channel, two dimensions, four channels
        image.save(arg[1] .. '/g.png', picture[1])
        assert(image.load(arg[1] .. '/g.png', 3):size(1) == 3 and image.load(arg[1] .. '/g.png'):size(1) == 1)
        image.save(arg[1] .. '/g.pgm', picture[1])
        assert(same(image.load(arg[1] .. '/g.pgm', 1, 'byte')[1], bytes[1]))
        image.save(arg[1] .. '/alpha.png', torch.rand(4, 3, 3))
        assert(image.load(arg[1] .. '/alpha.png'):size(1) == 4)
        assert(image.load(arg[1] .. '/alpha.png', 3):size(1) == 3)

        for problem, f in pairs{
           ['1, 3 or 4 channels'] = function() image.save(arg[1] .. '/x.png', torch.rand(2, 3, 3)) end,
           ['between 0 and 100'] = function() image.compressJPG(smooth, 101) end,
           ['unknown image type: gif'] = function() image.save(arg[1] .. '/x.gif', smooth) end,
           ['unable to determine image type'] = function() image.load(arg[2]) end,
           ['cannot be read as PNG or JPEG'] = function() image.decompressJPG(torch.ByteTensor{ 1, 2 }) end,
           ['No such file'] = function() image.load(arg[1] .. '/none.png') end,
           ['must be byte, float or double'] = function() image.load(arg[1] .. '/a.png', 3, 'int') end,
        } do
           local ok, said = pcall(f)
           assert(not ok and tostring(said):find(problem, 1, true), problem .. ' but: ' .. tostring(said))
        end
        """,
        str(tmp_path),
        str(tmp_path / "words"),
    )
    with pillow.open(tmp_path / "a.png") as written:
        assert written.mode == "RGB" and written.size == (30, 20)


def png_16_bits(pixels: np.ndarray, filters: list[int]) -> bytes:
    """A PNG of 16-bit RGB, its rows filtered as told."""
    height, width, _ = pixels.shape
    lines = [line.astype(">u2").tobytes() for line in pixels]
    raw, above = b"", bytes(6 * width)
    for kind, line in zip(filters, lines, strict=True):
        coded = bytearray()
        for i, value in enumerate(line):
            a, b, c = (line[i - 6] if i > 5 else 0), above[i], (above[i - 6] if i > 5 else 0)
            nearest = min((abs(a + b - c - v), place, v) for place, v in enumerate((a, b, c)))[2]
            coded.append((value - [0, a, b, (a + b) // 2, nearest][kind]) % 256)
        raw, above = raw + bytes([kind]) + bytes(coded), line

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)
    body = zlib.compress(raw)
    parts = [
        chunk(b"IHDR", header),
        chunk(b"IDAT", body[:20]),
        chunk(b"IDAT", body[20:]),
        chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_png_with_16_bits_per_colour(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 65536, (5, 4, 3)).astype(np.uint16)
    path = tmp_path / "deep.png"
    path.write_bytes(png_16_bits(pixels, [0, 1, 2, 3, 4]))
    *sizes, text, largest = image_read_file(str(path))
    assert (sizes, largest) == ([3, 5, 4], 65535)
    read = np.frombuffer(text.encode("latin-1"), np.uint16)
    np.testing.assert_array_equal(read.reshape(pixels.shape), pixels)
    run_lua(
        tmp_path,
        """
        local values, high = image.load(arg[1], 3, 'double') * 65535, image.load(arg[1], 3, 'byte'):double()
        assert((values / 256):floor():equal(high) and high:max() > 0)
        """,
        str(path),
    )
    path.write_bytes(path.read_bytes()[:90])
    with pytest.raises(ValueError, match="Error during read_image"):
        image_read_file(str(path))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"P2\n# a comment\n3 1\n15\n0 3 15\n", [[0, 51, 255]]),
        (b"P5 2 1 255\n\x07\xff", [[7, 255]]),
        (b"P5\n1 2\n65535\n\x01\x02\xff\xff", [[258], [65535]]),
    ],
)
def test_ppm(data: bytes, expected: list[list[int]], tmp_path: Path) -> None:
    path = tmp_path / "x.pgm"
    path.write_bytes(data)
    channels, height, width, text, largest = image_read_ppm(str(path))
    pixels = np.frombuffer(text.encode("latin-1"), np.uint8 if largest == 255 else np.uint16)
    assert channels == 1 and pixels.reshape(height, width).tolist() == expected


WITHOUT_PYTORCH = """
require 'image'
torch.manualSeed(1)
local folder, x = arg[1] .. '/', torch.rand(3, 20, 30)
for _, kind in ipairs{ 'png', 'jpg', 'ppm' } do
    image.save(folder .. 'x.' .. kind, x)
    assert(image.load(folder .. 'x.' .. kind, 3, 'float'):size(3) == 30)
    assert(image.load(folder .. 'x.' .. kind, 1, 'byte'):size(1) == 20)
end
assert(image.decompress(image.compressJPG(x)):size(2) == 20)
for _, mode in ipairs{ 'bilinear', 'bicubic', 'simple' } do image.scale(x:byte(), 300, 200, mode) end
local moved = image.translate(x, -3, 2)
assert(moved:sub(1, 3, 3, 20, 1, 27):equal(x:sub(1, 3, 1, 18, 4, 30)) and moved:sub(1, 3, 1, 2):max() == 0)
assert(image.flip(image.hflip(image.vflip(x)), 1):storage()[1] == x[3][20][30])
assert(image.lena():size(2) == 512 and image.fabio():dim() == 2)
local large, grey = torch.rand(3, 300, 400):float(), torch.rand(300, 400)
for _, mode in ipairs{ 'simple', 'bilinear' } do
    image.rotate(large, 0.3, mode)
    image.polar(large, mode)
end
for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
    image.affinetransform(large, torch.eye(2), mode, torch.Tensor{ 1, 2 })
end
for _, space in ipairs{ 'hsl', 'hsv', 'lab', 'yuv' } do
    image[space .. '2rgb'](image['rgb2' .. space](large))
end
image.convolve(large, image.gaussian(9):float(), 'same')
image.gaussianpyramid(large, { 1, 0.5 })
image.lcn(grey)
image.dilate(image.erode(grey:gt(0.5):double()))
image.drawText(large, 'some text', 10, 10)
image.minmax{ tensor = large, symm = true }
image.toDisplayTensor{ input = torch.rand(10, 3, 50, 60), padding = 2, nrow = 4 }
image.y2jet(torch.range(1, 100):view(10, 10))
image.colormap(30)
large:add(-large:mean()):div(large:std())
assert(not require('th.python').pytorch)
"""


def test_everyday_pictures_need_no_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    script = tmp_path / "without.lua"
    script.write_text(WITHOUT_PYTORCH)
    result = commands.run_python("-m", "lua_compat", script, tmp_path, fresh=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "data",
    [b"P5 9 9 255\n\x07", b"P2 2 1 255\n1 x", b"P5 a 1 255\n", b"P5", b"P4 1 1\n\x00", b"P5 1 1 0\n1"],
)
def test_bad_ppm(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.pgm"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"corrupted file|unsupported magic number: P4"):
        image_read_ppm(str(path))


def test_without_pillow(tmp_path: Path) -> None:
    """One line says what to install; PPM works without."""
    (tmp_path / "PIL").mkdir()
    (tmp_path / "PIL" / "__init__.py").write_text("raise ImportError")
    code = (
        "require 'image' image.save('x.ppm', torch.rand(3, 2, 2)) assert(image.load('x.ppm'):size(2) == 2) "
        "print(pcall(image.save, 'x.png', torch.rand(3, 2, 2)))"
    )
    done = commands.run_th("-e", code, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path)})
    assert done.stdout.startswith("false\timage: PNG, JPEG and text need Pillow: pip install"), done


def test_text(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image")
    run_lua(
        tmp_path,
        """
        local blank = torch.zeros(3, 24, 40)
        local plain = image.drawText(blank, 'foo\\nbar', 2, 4, { color = { 255, 255, 255 } })
        assert(blank:max() == 0 and plain:max() == 1)
        assert(plain:narrow(2, 1, 4):max() == 0)
        assert(plain:narrow(2, 5, 8):max() == 1 and plain:narrow(2, 13, 8):max() == 1)
        assert(plain:narrow(3, 21, 20):max() == 0, 'three cells of six')
        local large = image.drawText(blank, 'f', 0, 0, { size = 2, bg = { 0, 0, 255 } })
        local ink = large[1]:gt(0):sum()
        assert(ink % 4 == 0 and large[3]:narrow(1, 1, 16):narrow(2, 1, 12):eq(0):sum() == ink)
        local bytes = blank:byte()
        local options = { inplace = true, wrap = false }
        assert(image.drawText(bytes, 'beyond the border it is cut', 30, 20, options) == bytes)
        assert(bytes:max() == 255)
        """,
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("image.display(torch.rand(3, 3))", "image.display: th has no window"),
        ("image.window()", "th has no window"),
        ("image.scale(torch.rand(3, 3), 'big')", "could not find valid dest size"),
        ("image.scale(torch.rand(3, 3), 2, 2, 'cubic')", "mode must be one of: bilinear | bicubic | simple"),
        ("image.scale(torch.rand(2, 3, 3), torch.rand(3, 3, 3))", "depths do not match"),
        ("image.crop(torch.rand(3, 3), 0, 0, 4, 2)", "crop goes outside bounds of src"),
        ("image.crop(torch.rand(3, 3), 'xx', 1, 1)", "crop format must be"),
        ("image.rotate(torch.rand(3, 3))", "incorrect arguments; it takes [destination,] source, theta"),
        ("local x = torch.rand(3, 3) image.rotate(x, x, 1)", "in-place rotate not supported"),
        ("image.warp(torch.rand(3, 3), torch.rand(2, 3, 3), 'nearest')", "mode must be one of"),
        ("image.rgb2lab(torch.ByteTensor(3, 2, 2))", "not supported for torch.ByteTensor"),
        ("image.rgb2hsv(torch.rand(2, 2))", "3 x height x width is expected"),
        ("image.load()", "it takes filename"),
    ],
)
def test_what_cannot_be_done_is_said(code: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LuaError) as error:
        run_lua(tmp_path, code)
    assert said in str(error.value)


def test_pictures_of_torch7s_package_are_found(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    assets = tmp_path / "image" / "assets"
    assets.mkdir(parents=True)
    pillow.new("RGB", (4, 2), (255, 0, 0)).save(assets / "grace_hopper_512.jpg")
    run_lua(tmp_path, "package.path = arg[1] .. '/?.lua' assert(image.lena():size(3) == 4)", str(tmp_path))


def test_there_are_pictures_without_torch7s_package(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'image'
        for name, sizes in pairs{ lena = { 3, 512, 512 }, fabio = { 257, 271 } } do
           local picture = image[name]()
           assert(picture:isSameSizeAs(torch.Tensor(unpack(sizes))) and picture:equal(image[name]()))
           assert(picture:min() >= 0 and picture:max() <= 1 and picture:std() > 0.1)
        end
        """,
    )


def test_doubles_pass_through_single_precision_where_torch7s_do(tmp_path: Path) -> None:
    """Sums to the last bit, as Torch7 printed them."""
    run_lua(
        tmp_path,
        """
        require 'image'
        torch.manualSeed(1)
        local x = torch.rand(2, 6, 6)
        local function check(image, sum) assert(('%.17g'):format(image:sum()) == sum, sum) end
        check(image.crop(x, 0, 1, 3, 4), '9.374577421694994')
        check(image.scale(x, 9, 7, 'simple'), '61.263230490498245')
        check(image.rotate(x, .3), '31.313524581259117')
        check(image.rotate(x, .3, 'bilinear'), '32.665028586983681')
        check(image.polar(x, 'simple', 'full'), '26.412843853235245')
        local field, colors = torch.rand(2, 5, 7):mul(9):add(-4), torch.rand(3, 5, 6)
        check(image.logpolar(x:float(), 'bilinear', 'full'):double(), '34.671213522553444')
        check(image.warp(x, field, 'bicubic'), '34.424101209111001')
        check(image.warp(x:float(), field:float(), 'bicubic'):double(), '34.424101188778877')
        check(image.warp(x:float(), field:float(), 'lanczos'):double(), '33.929413951933384')
        check(image.rgb2lab(colors), '2057.5074442637638')
        check(image.lab2rgb(colors:float():mul(60)):double(), '23.749804490245879')
        check(image.hsl2rgb(colors:float()):double(), '45.603615120984614')
        local filter = image.gaussian{ tensor = x[1]:float(), sigma = 0.3, normalize = true }
        check(filter:double(), '1.0000000707805157')
        check(image.drawRect(colors, 2, 2, 4, 4, { color = { 100, 20, 30 } }), '37.840685108676553')
        """,
    )


def test_scaling_keeps_to_the_elements_it_needs(tmp_path: Path) -> None:
    """An infinite pixel has no part in the means of others; a NaN with any bits is read."""
    run_lua(
        tmp_path,
        """
        local x = torch.range(1, 14):view(1, 14)
        x[1][8] = math.huge
        local means = image.scale(x, 5, 1)
        assert(means:eq(math.huge):sum() == 1 and means:ne(means):sum() == 0, tostring(means))
        local nan = torch.IntTensor(1, 4):fill(0x7ff12345)
        local floats = torch.FloatTensor(1, 4)
        require('ffi').copy(floats:data(), nan:data(), 16)
        assert(image.scale(floats, 2, 3):ne(0):sum() == 6)
        """,
    )


def test_colours_there_and_back(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        torch.manualSeed(1)
        local x = torch.rand(3, 5, 6)
        for space, tolerance in pairs{ hsl = 1e-12, hsv = 1e-12, lab = 1e-4 } do
           local back = image[space .. '2rgb'](image['rgb2' .. space](x))
           assert((back - x):abs():max() < tolerance, space)
        end
        """,
    )


def test_rotating_and_warping_by_zero(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        torch.manualSeed(1)
        local x = torch.rand(2, 6, 7):float()
        assert(image.rotate(x, 0):equal(x) and image.rotate(x, 0, 'bilinear'):equal(x))
        for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
           assert((image.warp(x, torch.zeros(2, 6, 7):float(), mode) - x):abs():max() < 1e-5, mode)
        end
        """,
    )


@pytest.mark.parametrize("kind", ["float", "double", "byte", "int"])
def test_each_plane_is_computed_like_an_image_of_one_plane(kind: str, tmp_path: Path) -> None:
    """Planes are computed three at a time or alone, from any layout, to a new or a given tensor."""
    run_lua(
        tmp_path,
        """
        torch.manualSeed(1)
        local kind = arg[1]
        local x = torch.rand(5, 23, 17):mul(250)
        x = x[kind](x):transpose(2, 3)
        local field = torch.randn(2, 9, 31):mul(5)
        local ways = {}
        for _, mode in ipairs{ 'simple', 'bilinear' } do
           table.insert(ways, function(out, img) return image.rotate(out or img.new(), img, 0.3, mode) end)
           for _, name in ipairs{ 'polar', 'logpolar' } do
              table.insert(ways, function(out, img)
                 return out and image[name](out, img, mode, 'full') or image[name](img, mode, 'full')
              end)
           end
        end
        for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
           table.insert(ways, function(out, img)
              return image.warp(out or img.new(), img, field, mode, true, 'pad', 7)
           end)
        end
        for k, way in ipairs(ways) do
           local whole = way(nil, x)
           assert(whole:type() == x:type() and whole:ne(0):sum() > 0)
           local apart = whole.new(whole:size(2), 5, whole:size(3)):transpose(1, 2)
           assert(way(apart, x):equal(whole), k)
           for plane = 1, 5 do assert(way(nil, x[plane]):equal(whole[plane]), k) end
        end
        """,
        kind,
    )


def test_hostile_places_stay_within_the_image(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local x = torch.rand(3, 4, 5)
        for _, place in ipairs{ 0 / 0, math.huge, -math.huge, 1e300, -1e300, -0.5 } do
           for _, mode in ipairs{ 'simple', 'bilinear', 'bicubic', 'lanczos' } do
              local out = image.warp(x, torch.Tensor(2, 3, 3):fill(place), mode)
              assert(out:min() > -1 and out:max() < 2, mode .. ' ' .. place)
           end
           assert(image.rotate(x, place, 'bilinear'):max() <= 1 and image.rotate(x, place):max() <= 1)
           if place == place then
              image.drawText(x, 'far', place, place, { size = 3, bg = { 1, 2, 3 } })
           else
              assert(not pcall(image.drawText, x, 'nowhere', place, 1))
           end
        end
        for _, field in ipairs{ torch.Tensor(1, 3, 3), torch.Tensor(3, 3), torch.Tensor() } do
           local ok, said = pcall(image.warp, x, field)
           assert(not ok and said:find 'a field of 2 x height x width is expected', said)
        end
        """,
    )


def test_a_nil_for_the_offset_and_bytes_outside_are_as_in_torch7(tmp_path: Path) -> None:
    """Real Torch7's numbers: a nil: the field holds positions; a byte's padding is cut; bytes are not
    limited to 1."""
    run_lua(
        tmp_path,
        """
        local function row(t) return table.concat(t:view(-1):totable(), ' ') end
        local x, field = torch.range(1, 4):view(2, 2), torch.Tensor(2, 2, 2):fill(0.5)
        assert(row(image.warp(x, field, 'bilinear', nil, 'clamp')) == '2.5 2.5 2.5 2.5')
        assert(row(image.warp(x, field, 'bilinear')) == '2.5 3 3.5 4')
        local far = field:byte():fill(5)
        assert(row(image.warp(x:byte(), far, 'simple', true, 'pad', 7.9)) == '7 7 7 7')
        assert(row(image.warp(x:byte(), far, 'bicubic', true, 'pad', 0.5)) == '0 0 0 0')
        local bytes = image.minmax{ tensor = x:byte(), min = 1, max = 2, saturate = true, inplace = true }
        assert(row(bytes) == '0 1 2 3')
        """,
    )
