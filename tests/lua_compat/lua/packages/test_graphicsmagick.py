"""The package graphicsmagick against what the original did over its library."""

from pathlib import Path

from PIL import Image

from tests.helpers.commands import run_lua, run_th
from tests.helpers.places import GOLDEN

# In 65536ths: a color space there and back has rounding errors that its matrix makes larger.
_COMPARE = """
local recorded, made = torch.load(arg[1]), torch.load(arg[2])
local function near(name, a, b, most)
   if torch.isTensor(a) then
      assert(torch.isTensor(b) and a:type() == b:type() and a:isSameSizeAs(b), name)
      local unit = a:type() == 'torch.ByteTensor' and 1 or 65535
      local apart = (a:double() - b:double()):abs():max() * unit
      assert(apart <= (unit == 1 and 0 or most), ('%s: %g'):format(name, apart))
   elseif type(a) == 'table' then
      -- the bytes of a file depend on its writer: what it says once read does not
      for place, value in ipairs(a) do
         if type(value) ~= 'string' or #value < 100 then near(name, value, b[place], most) end
      end
   elseif type(a) == 'number' then
      assert(math.abs(a - b) < 1e-6, ('%s: %s for %s'):format(name, b, a))
   else
      assert(a == b, ('%s: %s for %s'):format(name, tostring(b), tostring(a)))
   end
end
local count = 0
for name, result in pairs(recorded) do
   near(name, result, made[name], name:find('there and back', 1, true) and 5.1 or 1.1)
   count = count + 1
end
assert(count > 150)
"""


def test_graphicsmagick_does_what_the_original_did(tmp_path: Path) -> None:
    made = tmp_path / "made.t7"
    probe = GOLDEN / "packages" / "probe_graphicsmagick.lua"
    result = run_th(probe, made)
    assert result.returncode == 0, result.stderr
    script = tmp_path / "compare.lua"
    script.write_text(_COMPARE)
    compared = run_th(script, GOLDEN / "packages" / "graphicsmagick.t7", made)
    assert compared.returncode == 0, compared.stderr


def test_files_of_the_original_are_read_as_it_reads_them(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local gm = require 'graphicsmagick'
        local count = 0
        for name, result in pairs(torch.load(arg[2])) do
           if name:find '^png' or name:find '^jpeg' then
              local text, values = unpack(result)
              local image = gm.Image():fromString(text)
              if torch.isTensor(values) then
                 local kind = torch.typename(values):match('torch.(%a+)Tensor'):lower()
                 local space = ({ [1] = 'I', [3] = 'RGB', [4] = 'RGBA' })[values:size(1)]
                 assert(image:toTensor(kind, space, 'DHW'):equal(values), name)
                 count = count + 1
              end
           end
        end
        assert(count >= 10)
        """,
        str(tmp_path),
        str(GOLDEN / "packages" / "graphicsmagick.t7"),
    )


def test_graphicsmagick_on_files(tmp_path: Path) -> None:
    picture = Image.new("RGB", (40, 20), (200, 100, 50))
    exif = Image.Exif()
    exif[306] = "2013:01:01 00:00:01"
    exif.get_ifd(0x8825).update({1: "N", 2: (25.0, 47.0, 24.0), 3: "W", 4: (80.0, 7.0, 48.0)})
    picture.save(tmp_path / "a.jpg", exif=exif, quality=95)
    (tmp_path / "broken.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:200])
    Image.new("CMYK", (8, 8), (0, 255, 0, 0)).save(tmp_path / "inks.jpg")
    Image.new("P", (8, 8), 3).save(tmp_path / "p.gif")
    run_lua(
        tmp_path,
        """
        local gm = require 'graphicsmagick'
        local folder = arg[1] .. '/'
        local t = gm.load(folder .. 'a.jpg')
        assert(t:size(1) == 3 and t:size(2) == 20 and t:size(3) == 40 and t:type() == 'torch.FloatTensor')
        assert(math.abs(t[1]:mean() - 200 / 255) < 0.01)
        gm.save(folder .. 'grey.png', t[2])
        assert(gm.Image(folder .. 'grey.png'):type() == 'Grayscale')
        gm.convert{ input = folder .. 'a.jpg', output = folder .. 'b.png', size = '20x20', rotate = 90 }
        local said = gm.info(folder .. 'b.png', true)
        assert(said.width == 10 and said.height == 20 and said.format == 'PNG')
        said = gm.info(folder .. 'a.jpg')
        assert(said.date == '2013:01:01 00:00:01')
        assert(said.location.latitude == 'N25.79' and said.location.longitude == 'W80.13')
        assert(gm.info(folder .. 'nothing').error == 'not an image')
        assert(gm.Image(folder .. 'inks.jpg'):colorspace() == 'CMYK')
        assert(gm.Image(folder .. 'inks.jpg'):toTensor('byte', 'CMYK', 'DHW'):size(1) == 4)
        assert(gm.Image(folder .. 'p.gif'):type() == 'Palette' or gm.Image(folder .. 'p.gif'):type():find 'B')
        local i = gm.Image(folder .. 'a.jpg', 20)
        assert(i:size() <= 40 and i:format() == 'JPEG' and i:rotate(45):size() > 20)
        local blob, size = i:format('PNG'):toBlob()
        assert(gm.Image():fromBlob(blob, size):size() == i:size())
        for words, f in pairs{
           ['error loading image'] = function() gm.Image(folder .. 'broken.jpg') end,
           ['error loading image: the bytes'] = function() gm.Image():fromString 'nothing' end,
           ['No such file'] = function() gm.Image(folder .. 'none.png') end,
           ['no filter X; there are'] = function() i:size(3, 3, 'X') end,
           ['no color space X; there are'] = function() i:colorspace 'X' end,
           ['no operation X to compose'] = function() i:compose(i, 'X', 0, 0) end,
           ['no picture yet'] = function() gm.Image():flip() end,
           ['call format(FORMAT) before'] = function() gm.Image(t, 'RGB', 'DHW'):toString() end,
           ['byte, float or double'] = function() i:toTensor 'int' end,
           ['C is of CMYK'] = function() i:toTensor('byte', 'CMYK') end,
           ['make no filter'] = function() i:blur(0, 0) end,
           ['addNoise is not supported'] = function() i:addNoise 'Gaussian' end,
           ['depth must match'] = function() gm.Image(t, 'RG', 'DHW') end,
           ['cannot be written as QQQ'] = function() i:save(folder .. 'a.qqq') end,
        } do
           local ok, problem = pcall(f)
           local one_line = not ok and problem:find(words, 1, true) and not problem:find '\\n'
           assert(one_line, words .. ' | ' .. tostring(problem))
        end
        """,
        str(tmp_path),
    )


def test_turned_pictures_are_as_large_as_the_originals(tmp_path: Path) -> None:
    """Sizes that GraphicsMagick gave a picture of 30 by 20."""
    run_lua(
        tmp_path,
        """
        local gm = require 'graphicsmagick'
        for degrees, size in pairs{ [45] = '35x35', [30] = '36x32', [-20] = '35x29', [10] = '33x25',
           [90] = '20x30', [100] = '25x33', [135] = '35x35' } do
           local image = gm.Image(torch.rand(3, 20, 30), 'RGB', 'DHW'):rotate(degrees)
           assert(('%dx%d'):format(image:size()) == size, degrees)
        end
        """,
    )
