// CUDA's headers include this beside egl.h; the types they need are there.
#pragma once

#include "EGL/egl.h"
