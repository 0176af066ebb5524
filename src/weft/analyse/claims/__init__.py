# SPDX-License-Identifier: BSD-3-Clause
"""What a run may claim, decided once: sources propose claims from tables, `gate` judges them by the run's quality."""
