// The few OpenGL types that CUDA's interoperability headers mention. Real OpenGL is not needed to
// refuse its calls.
#pragma once

typedef unsigned int GLenum;
typedef unsigned int GLuint;
