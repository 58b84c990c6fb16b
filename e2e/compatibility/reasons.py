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
TIMED_OUT_ONCE = (
    "ours",
    "passes alone; beside other programs the wait of rank 2 for the first all-reduce, of at most five seconds, timed out "
    "(not traced)",
)

PROFILED = (
    "wheel",
    "counts the profiler's events nccl:all_gather, nccl:broadcast and so on, which ProcessGroupNCCL records and nccl2, the "
    "default of this wheel, does not",
)
NO_DEVICE = ("wheel", "makes no GPU its current one, which nccl2 asks for: its bytes lie on GPU 0 of rank 1")


# numba-cuda.
REDUCTIONS = "test_array_reductions__TestArrayReductions__test"
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
BY_POINTER = (
    "ours",
    "the kernel is not run: it calls a function whose address is in a register (CALL.REL), which is not interpreted",
)
BY_ADDRESS = ("ours", "the kernel is not run: it calls a function by its absolute address (CALL.ABS)")
NO_STATISTICS = (
    "ours",
    "a kernel tells by managed memory whether numba counts: no kernel is run here that writes memory of the host, which "
    "reads as it was",
)
PRINTS = ("ours", "what kernels print (vprintf) is not carried out")
NO_FIELD = (
    "wheel",
    "reads a field (`reserved`) that the handle of cuda-bindings 13, beside this numba-cuda, does not have",
)
TOO_LARGE = ("values", "compares the results of a million elements")
REDUCES = ("ours", "the kernel is interpreted and does not end with known results; which bytes it misses was not found")
FORKS = (
    "ours",
    "a process that forks after the driver was started gets CUDA_ERROR_DEINITIALIZED, not CUDA_ERROR_NOT_INITIALIZED",
)
TWO_STAMPS = (
    "wheel",
    "numba and numba-cuda keep one index of cached code for a function of both; numba 0.68 stamps it with a hash of the "
    "source, numba-cuda with its time and size, and each takes an index with another stamp for empty",
)
DEBUGGED = (
    "ours",
    "the kernel is not run: code for debugging reads a special register (SR_LMEMHIOFF) that is not known",
)
FORMATS_OF_8_BITS = ("e4m3", "e5m2", "nan")
CVT_8 = "FP8Storage_CVT_Intrinsics_Tests__test_cvt"
FLOATS_OF_8_BITS = (
    "ours",
    "the kernel is not run: conversions from and to floating point numbers of 8 bits (F2FP) are not interpreted",
)
ROUNDED_UP = (
    "ours",
    "a number rounded up to bfloat16 was rounded to nearest (mended since)",
)
BOUNDED = ("scalar", "tuple", "with_max_cluster_rank", "with_min_cta")
BOUNDS = (
    "ours",
    "a block larger than the code's bounds is refused for want of resources, where the test expects an invalid value",
)
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
        "numba",
        BY_POINTER,
        "cudapy__test_array_methods__TestCudaArrayMethods__test_array_copy",
        "cudapy__test_array_methods__TestCudaArrayMethods__test_reinterpret_array_type",
    ),
    **each("numba", NO_STATISTICS, *(f"cudapy__{REDUCTIONS}_{name}" for name in REDUCED)),
    **each(
        "numba",
        PRINTS,
        *(
            f"cudapy__test_print__TestPrint__test_{name}"
            for name in (
                "bfloat16",
                "bool",
                "cuhello",
                "dim3",
                "nested_mixed_type_tuple",
                "printfloat",
                "single_element_tuple",
                "string",
                "too_many_args",
                "tuple",
            )
        ),
    ),
    **each(
        "numba",
        NO_FIELD,
        "cudapy__test_ipc__TestIpcMemory__test_ipc_array",
        "cudapy__test_ipc__TestIpcMemory__test_ipc_handle",
        "cudapy__test_ipc__TestIpcMemory__test_ipc_handle_serialization",
        "cudapy__test_ipc__TestIpcStaged__test_ipc_array",
        "cudapy__test_ipc__TestIpcStaged__test_staged",
    ),
    **each(
        "numba",
        TOO_LARGE,
        "cudapy__test_vectorize__TestCUDAVectorize__test_1d",
        "cudapy__test_vectorize__TestCUDAVectorize__test_1d_async",
        "cudapy__test_transpose__TestTranspose__test_transpose",
    ),
    **each(
        "numba",
        REDUCES,
        "cudapy__test_reduction__TestReduction__test_max_reduce",
        "cudapy__test_reduction__TestReduction__test_sum_reduce",
    ),
    **each(
        "numba",
        ("ours", "a kernel with a function that calls itself does not end with known results; why was not found"),
        *(
            f"cudapy__test_recursion__TestSelfRecursion__test_{name}"
            for name in ("global_explicit_sig", "global_implicit_sig", "inner_explicit_sig")
        ),
    ),
    "numba:cudapy__test_sm__TestSharedMemory__test_dynshared_slice_gaps": (
        "ours",
        "read a word of which a part lay behind the shared memory of the launch (mended since)",
    ),
    "numba:cudapy__test_multiprocessing__TestMultiprocessing__test_fork": FORKS,
    **each(
        "numba",
        TWO_STAMPS,
        "cudapy__test_caching__CUDAAndCPUCachingTest__test_cpu_and_cuda_reuse",
        "cudapy__test_caching__CUDAAndCPUCachingTest__test_cpu_and_cuda_targets",
    ),
    **each(
        "numba",
        DEBUGGED,
        "cudapy__test_exception__TestException__test_exception",
        "cudapy__test_exception__TestException__test_zero_division_error_in_debug",
        "cudapy__test_fastmath__TestFastMathOption__test_divf_exception",
    ),
    **each(
        "numba",
        BY_ADDRESS,
        "cudapy__test_cooperative_groups__TestCudaCooperativeGroups__test_sync_at_matrix_row",
        "cudapy__test_exception__TestException__test_user_raise",
        "cudapy__test_userexc__TestUserExc__test_user_exception",
    ),
    "numba:cudapy__test_dispatcher__TestDispatcher__test_dispatcher_cpointer_arguments": (
        "ours",
        "the kernel reads behind the ends of its arrays: one that reads a byte that nobody knows is not run",
    ),
    **each(
        "numba",
        BOUNDS,
        *(f"cudapy__test_dispatcher__TestLaunchBounds__test_launch_bounds_{name}" for name in BOUNDED),
    ),
    **each(
        "numba",
        FLOATS_OF_8_BITS,
        *(
            f"cudapy__test_fp8_bindings__FP8ConstructorTests__test_fp8_{name}_constructors"
            for name in ("e4m3", "e5m2", "nan")
        ),
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_conversion_negative_values",
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_conversion_roundtrip",
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_nan_conversions",
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_to_float_types",
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_to_signed_integers",
        "cudapy__test_fp8_bindings__FP8ConversionTests__test_fp8_to_unsigned_integers",
        *(f"cudapy__test_fp8_bindings__{CVT_8}_{name}" for name in ("bfloat16raw_roundtrip", "float_to_fp8")),
    ),
    **each(
        "numba", ROUNDED_UP, *(f"cudapy__test_fp8_bindings__{CVT_8}_{name}_to_e8m0" for name in ("double", "float"))
    ),
    **each(
        "numba",
        SLOW_HERE,
        *(f"cudapy__test_array_alignment__TestArrayAddressAlignment__test_array_alignment_{n}d" for n in (1, 2, 3)),
        "cudapy__test_laplace__TestCudaLaplace__test_laplace_small",
        "cudapy__test_vector_type__TestCudaVectorType__test_fancy_creation_readout",
    ),
    "cupy:random": (
        "ours",
        "cuRAND's start loads the states that it then overwrites, more than 1 MiB that nobody wrote: a kernel that reads a "
        "byte that nobody knows is not run",
    ),
    "torch-collectives-nccl2:test_barrier_cuda": (
        "ours",
        "compares wall clocks of two ranks, which differ by what the start-up of each took (not in the fixed host model)",
    ),
    "torch-collectives-4:test_monitored_barrier_allreduce_hang": TIMED_OUT_ONCE,
    **each("torch-training", LARGE_CONVOLUTIONS, "test_ddp_uneven_inputs"),
    **each("torch-training-4", LARGE_CONVOLUTIONS, "test_ddp_uneven_inputs"),
    **each("torch-training-nccl2", LARGE_CONVOLUTIONS, "test_ddp_uneven_inputs"),
    **each("torch-training", MILLION_WEIGHTS, *MILLION_WEIGHTS_TESTS),
    **each("torch-training-4", MILLION_WEIGHTS, *MILLION_WEIGHTS_TESTS),
    **each("torch-training-nccl2", MILLION_WEIGHTS, *MILLION_WEIGHTS_TESTS),
    **each("torch-training", LARGE_LAYER, "test_skip_all_reduce_unused_parameters"),
    **each("torch-training-4", LARGE_LAYER, "test_skip_all_reduce_unused_parameters"),
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
