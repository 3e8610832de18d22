"""GraphicsMagick's operations for the Lua package graphicsmagick: files by Pillow, the rest by numpy.

A picture is height x width x 4 (red, green, blue, alpha) in float64: whole numbers from 0 to 65535, as in the
16-bit library.
"""
