"""Tests of benchmarks/gpu: what runs on a GPU is run here on a fake one."""
