"""A GPU that is not there: PyTorch's CUDA on the CPU, under the rules that hold on a real one.

``placement.fake_cuda`` is for tests that make tensors with device="cuda". With START in PYTHONPATH a program
that is started finds a GPU, as ``torch.cuda`` shows it, with memory, streams, events and graphs (device.py).
"""

from pathlib import Path

# In PYTHONPATH it makes every Python that is started with it load the fake GPU together with torch.
START = Path(__file__).with_name("start")
