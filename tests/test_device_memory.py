"""Out of memory: how it is recognised, and the batch that is named."""

import pytest
import torch

from convnet_benchmarks.device_memory import fitting_batch, is_out_of_memory


def test_pytorchs_own_refusal_on_a_cpu_is_recognised():
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**50, dtype=torch.uint8)
    assert is_out_of_memory(error.value)


@pytest.mark.parametrize("error", [MemoryError(), torch.cuda.OutOfMemoryError("CUDA out of memory")])
def test_refusals_are_recognised(error):
    assert is_out_of_memory(error)


def test_other_errors_are_not():
    assert not is_out_of_memory(RuntimeError("shapes do not match"))


def test_the_fitting_batch_fits_and_one_more_does_not():
    fixed, sample, capacity = 1000, 70, 5000
    batch = fitting_batch(fixed + sample, fixed + 2 * sample, capacity)
    assert fixed + batch * sample <= capacity < fixed + (batch + 1) * sample
