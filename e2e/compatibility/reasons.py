"""Why rows of the matrix stop and tests of a suite do not pass, as far as somebody has found out: (class, reason).

Keys are those of rows, or row:test. Classes: ours, wheel, values (docs/compatibility.md says what they mean).
"""

MILLION_WEIGHTS = ("values", "compares weights of 1024 x 1024 layers after some steps")
MILLION_WEIGHTS_TESTS = (
    "test_ddp_apply_optim_in_backward",
    "test_ddp_apply_optim_in_backward_grad_as_bucket_view_false",
)
LARGE_CONVOLUTIONS = ("values", "compares weights of a model of large convolutions after some steps")
LARGE_LAYER = ("values", "compares weights of a layer of 100 x 5000 after some steps")
NEVER_MET = (
    "ours",
    "rank 1 calls an all-reduce that rank 0 never calls; its wait times out as it should, but here a job ends when a rank "
    "leaves a communicator in which another one still waits for it",
)

PROFILED = (
    "wheel",
    "counts the profiler's events nccl:all_gather, nccl:broadcast and so on, which ProcessGroupNCCL records and nccl2, the "
    "default of this wheel, does not",
)
NO_DEVICE = ("wheel", "makes no GPU its current one, which nccl2 asks for: its bytes lie on GPU 0 of rank 1")


# numba-cuda.
ATOMICS = "TestCudaAtomics__test_atomic"
REDUCTIONS = "test_array_reductions__TestArrayReductions__test"
HIGH_LEVEL = "test_bfloat16__TestBfloat16HighLevelBindings__test"
DOUBLES = (
    "add_double",
    "add_double_2",
    "add_double_3",
    "add_double_global",
    "add_double_global_2",
    "add_double_global_3",
    "dec_global2_64",
    "dec_global_64",
    "inc_global_2_64",
    "inc_global_64",
    "sub_double_global",
    "sub_double_global_2",
)
CACHED = ("CUDACachingTest__test_cache_reuse", "CUDACachingTest__test_caching")
REDUCED = (
    "all_basic",
    "any_basic",
    "count_nonzero_2d",
    "count_nonzero_basic",
    "count_nonzero_bool",
    "max_basic",
    "mean_basic",
    "min_basic",
    "nanmax_basic",
    "nanmean_basic",
    "nanmin_basic",
    "nanprod_basic",
    "nansum_basic",
    "std_basic",
    "sum_basic",
    "var_basic",
)
WIDE_ATOMICS = (
    "ours",
    "the kernel is not run: some atomics of 64 bits (of doubles, compare and swap, ATOM.ADD) are not interpreted",
)
NO_STATISTICS = ("wheel", "asks for statistics that numba-cuda keeps with NUMBA_CUDA_NRT_STATS=1 only")
NO_LINKER = ("ours", "cuLinkCreate is refused: a driver would compile PTX there")
HALF_OPERATIONS = ("ours", "the kernel is not run: some instructions for two bfloat16 numbers are not interpreted")
SLOW_HERE = ("ours", "did not end within a minute, beside other programs on two cores")


def each(row, reason, *tests):
    return {f"{row}:{test}": reason for test in tests}


REASONS = {
    **each(
        "torch-collectives-nccl2",
        PROFILED,
        "test_all_gather_cuda",
        "test_all_gather_cuda_complex",
        "test_all_reduce_sum_cuda",
        "test_all_reduce_sum_cuda_async",
        "test_all_reduce_sum_cuda_complex",
        "test_all_to_all_single_equal_split_cuda",
        "test_all_to_all_single_equal_split_cuda_complex",
        "test_all_to_all_single_equal_split_full_group_cuda",
        "test_broadcast_cuda",
        "test_reduce_sum_cuda",
        "test_reduce_sum_cuda_twice",
        "test_send_recv_nccl_torch_profiler",
    ),
    **each(
        "torch-collectives-nccl2", NO_DEVICE, "test_all_gather_object_default_pg", "test_all_gather_object_subgroup"
    ),
    **each(
        "torch-collectives-nccl2",
        NEVER_MET,
        "test_monitored_barrier_allreduce_hang",
        "test_monitored_barrier_allreduce_hang_wait_all_ranks",
    ),
    **each(
        "numba",
        WIDE_ATOMICS,
        *(f"cudapy__test_atomics__{ATOMICS}_{name}" for name in DOUBLES),
        "cudapy__test_array_methods__TestCudaArrayMethods__test_array_copy",
        "cudapy__test_array_methods__TestCudaArrayMethods__test_reinterpret_array_type",
    ),
    **each("numba", NO_STATISTICS, *(f"cudapy__{REDUCTIONS}_{name}" for name in REDUCED)),
    **each(
        "numba",
        NO_LINKER,
        *(f"cudapy__test_caching__CUDACachingTest__test_{name}" for name in ("cache_reuse", "caching")),
    ),
    **each(
        "numba",
        HALF_OPERATIONS,
        f"cudapy__{HIGH_LEVEL}_arithmetic_intrinsics_saturating",
        f"cudapy__{HIGH_LEVEL}_hmax_hmin_intrinsics",
        f"cudapy__{HIGH_LEVEL}_hmax_nan_hmin_nan_intrinsics",
        "cudapy__test_bfloat16_bindings__Bfloat16Test__test_arithmetic",
        "cudapy__test_bfloat16_bindings__Bfloat16Test__test_math_func",
    ),
    **each(
        "numba",
        SLOW_HERE,
        *(f"cudapy__test_array_alignment__TestArrayAddressAlignment__test_array_alignment_{n}d" for n in (1, 2, 3)),
    ),
    "cupy:random": (
        "ours",
        "cuRAND's start loads the states that it then overwrites, more than 1 MiB that nobody wrote: a kernel that reads a "
        "byte that nobody knows is not run",
    ),
    "torch-collectives:test_barrier_cuda": (
        "ours",
        "compares wall clocks of two ranks, which differ by what the start-up of each took (not in the fixed host model)",
    ),
    "torch-collectives:test_monitored_barrier_allreduce_hang": NEVER_MET,
    "torch-collectives:test_monitored_barrier_allreduce_hang_wait_all_ranks": NEVER_MET,
    **each("torch-training", LARGE_CONVOLUTIONS, "test_ddp_uneven_inputs"),
    **each("torch-training-nccl2", LARGE_CONVOLUTIONS, "test_ddp_uneven_inputs"),
    **each("torch-training", MILLION_WEIGHTS, *MILLION_WEIGHTS_TESTS),
    **each("torch-training-nccl2", MILLION_WEIGHTS, *MILLION_WEIGHTS_TESTS),
    **each("torch-training", LARGE_LAYER, "test_skip_all_reduce_unused_parameters"),
    **each("torch-training-nccl2", LARGE_LAYER, "test_skip_all_reduce_unused_parameters"),
    **each(
        "torch-training-nccl2", PROFILED, "test_ddp_profiling_torch_profiler", "test_send_recv_nccl_autograd_profiler"
    ),
    "accelerate-ops": (
        "values",
        "gather_tensor_shape adds up 4 MB of integers on all ranks that nobody wrote (torch.empty), and looks for those "
        "that are not 0: on a GPU fresh memory happens to be 0, here it is unknown; nor are zeros of that size computed",
    ),
}
