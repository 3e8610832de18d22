"""The part ``tune``: the GPU engine's ways for each layer, and whole nets beside a plain loop."""

from benchmarks.gpu.step import Setting, Step, check

# The nets that take longest first: what they compile serves the others.
ONE_SAMPLE, FORMATS = "one sample", "TF32 and bfloat16"
_CHOICES = (
    "overfeat_fast",
    "vgg_a",
    "alexnet_owt",
    "resnet50_v1",
    "googlenet",
    ONE_SAMPLE,
    FORMATS,
)


def steps(setting: Setting) -> list[Step]:
    """Returns a step for each net, in float32, and two for all of them."""
    tune = [check("tune", setting, choice, seconds=60.0) for choice in _CHOICES]
    return [check("machine", setting, seconds=20.0), *tune]
