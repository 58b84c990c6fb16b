"""Why rows of the matrix stop and tests of a suite do not pass, as far as somebody has found out: (class, reason).

Keys are those of rows, or row:test. Classes: ours, wheel, values (docs/compatibility.md says what they mean).
"""

REASONS = {
    "accelerate-ops": (
        "values",
        "gather_tensor_shape adds up 4 MB of integers on all ranks that nobody wrote (torch.empty), and looks for those "
        "that are not 0: on a GPU fresh memory happens to be 0, here it is unknown; nor are zeros of that size computed",
    ),
    "nvcc:y[999] is 0": ("ours", "not run: probably because the program set the kernel's constant variable"),
    "nvcc:0 threads counted": ("ours", "the same launch"),
}
