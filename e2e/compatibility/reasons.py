"""Why rows of the matrix stop and tests of a suite do not pass, as far as somebody has found out: (class, reason).

Keys are those of rows, or row:test. Classes: ours, wheel, values (docs/compatibility.md says what they mean).
"""

REASONS = {
    "nvcc:y[999] is 0": ("ours", "not run: probably because the program set the kernel's constant variable"),
    "nvcc:0 threads counted": ("ours", "the same launch"),
}
