"""Why rows of the matrix stop and tests of a suite do not pass, as far as somebody has found out: (class, reason).

Keys are those of rows, or row:test. Classes: ours, wheel, values (docs/compatibility.md says what they mean).
"""

REASONS = {
    "accelerate-ops": (
        "values",
        "gather_tensor_shape adds up 4 MB of integers on all ranks, and looks for those that are not 0: a collective "
        "of that size carries no values",
    ),
    "nvcc:y[999] is 0": ("ours", "not run: probably because the program set the kernel's constant variable"),
    "nvcc:0 threads counted": ("ours", "the same launch"),
}
