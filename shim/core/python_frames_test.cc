// Frames of an interpreter that this test lays out itself.
#include "shim/core/python_frames.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace eidolon::shim::core {
namespace {

const int code_type = 0, text_type = 0, other_type = 0;

struct Text {
  std::uint64_t references = 1;
  const void* type = &text_type;
  std::string characters;
};
struct Code {
  std::uint64_t references = 1;
  const void* type = &code_type;
  Text* file = nullptr;
  Text* name = nullptr;
  std::int32_t first_line = 1;
  std::byte instructions[64]{};
};
struct Frame {
  Code* code = nullptr;
  Frame* previous = nullptr;
  const std::byte* instruction = nullptr;
  std::uint8_t owner = 0;
};
struct Inner {
  std::uint64_t tracing = 0;
  Frame* frame = nullptr;
};
struct Thread {
  std::uint64_t identity = 7;
  Inner* inner = nullptr;
};

// Two bytes a line.
int LineInCode(void* code, int address) {
  return static_cast<Code*>(code)->first_line + address / 2;
}
std::ptrdiff_t LengthOfText(void* text) {
  return static_cast<std::ptrdiff_t>(static_cast<Text*>(text)->characters.size());
}
std::uint32_t CharacterOfText(void* text, std::ptrdiff_t index) {
  return static_cast<unsigned char>(
      static_cast<Text*>(text)->characters[static_cast<std::size_t>(index)]);
}

class PythonFramesTest : public ::testing::Test {
 protected:
  PythonFramesTest() {
    torch_.file = &torch_file_;
    torch_.name = &torch_name_;
    step_.file = &file_;
    step_.name = &name_;
    step_.first_line = 40;
    program_ = {.code = &step_, .previous = nullptr, .instruction = step_.instructions + 4};
    library_ = {.code = &torch_, .previous = &program_, .instruction = torch_.instructions};
  }
  static FrameInterface Interface() {
    return {.layout = {.thread_frame = offsetof(Thread, inner),
                       .frame_of_cframe = offsetof(Inner, frame),
                       .code = offsetof(Frame, code),
                       .previous = offsetof(Frame, previous),
                       .instruction = offsetof(Frame, instruction),
                       .owner = offsetof(Frame, owner),
                       .file = offsetof(Code, file),
                       .name = offsetof(Code, name),
                       .first_line = offsetof(Code, first_line),
                       .instructions = offsetof(Code, instructions),
                       .type = 8},
            .line_of = LineInCode,
            .length_of = LengthOfText,
            .character_of = CharacterOfText,
            .code_type = &code_type,
            .text_type = &text_type};
  }
  std::string Place() {
    const auto place = frames_.Find(&thread_);
    if (!place) return "?";
    return frames_.Describe(*place).value_or("?");
  }

  Text file_{.characters = "/home/me/train.py"};
  Text name_{.characters = "step"};
  Text torch_file_{.characters = "/env/lib/python3.11/site-packages/torch/nn/linear.py"};
  Text torch_name_{.characters = "forward"};
  Code step_;
  Code torch_;
  Frame program_;
  Frame library_;
  Inner inner_{.frame = &library_};
  Thread thread_{.inner = &inner_};
  PythonFrames frames_{Interface()};
};

TEST_F(PythonFramesTest, TheInnermostFrameOutsideOfTorchIsThePlace) {
  EXPECT_EQ(Place(), "/home/me/train.py:42 in step");

  program_.instruction += 2;
  EXPECT_EQ(Place(), "/home/me/train.py:43 in step");
  library_.owner = 3;  // Of C code: it has no code of Python.
  library_.code = nullptr;
  EXPECT_EQ(Place(), "/home/me/train.py:43 in step");
}

TEST_F(PythonFramesTest, OnePlaceIsTheSameEachTime) {
  const auto first = frames_.Find(&thread_);
  const auto second = frames_.Find(&thread_);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  program_.instruction += 2;
  EXPECT_NE(frames_.Find(&thread_), first);
}

TEST_F(PythonFramesTest, AThreadInTorchAloneIsNowhere) {
  library_.previous = nullptr;
  EXPECT_EQ(frames_.Find(&thread_), PythonPlaceKey{});
  EXPECT_EQ(Place(), "");
}

TEST_F(PythonFramesTest, AnotherCodeObjectAtTheSameAddressIsAnotherPlace) {
  const auto before = frames_.Find(&thread_);
  Text name{.characters = "validate"};
  step_.name = &name;

  EXPECT_NE(frames_.Find(&thread_), before);
  EXPECT_EQ(Place(), "/home/me/train.py:42 in validate");
  EXPECT_FALSE(frames_.Describe(*before).has_value());
}

TEST_F(PythonFramesTest, WhatIsNotAsItShouldBeIsNotRead) {
  step_.type = &other_type;
  EXPECT_EQ(Place(), "?");
  step_.type = &code_type;
  file_.type = &other_type;
  EXPECT_EQ(Place(), "?");
  file_.type = &text_type;
  file_.characters = "/home/\xe9/train.py";  // The interpreter shows it with an escape.
  EXPECT_EQ(Place(), "?");
  file_.characters = "/home/me/train.py";
  EXPECT_EQ(Place(), "/home/me/train.py:42 in step");
  // Addresses that are not valid do no harm as long as nothing agrees.
  program_.code = reinterpret_cast<Code*>(std::uintptr_t{0x10});
  EXPECT_EQ(Place(), "?");
  inner_.frame = reinterpret_cast<Frame*>(std::uintptr_t{0x10});
  EXPECT_EQ(Place(), "?");
  EXPECT_FALSE(frames_.Find(reinterpret_cast<const void*>(std::uintptr_t{0x10})).has_value());
}

TEST_F(PythonFramesTest, APlaceThatTheTextHasOtherwiseEndsIt) {
  for (int i = 0; i < 4; ++i) frames_.Compare(Place(), "/home/me/train.py:42 in step");
  EXPECT_TRUE(frames_.reads());
  EXPECT_EQ(Place(), "/home/me/train.py:42 in step");

  frames_.Compare(Place(), "/home/me/train.py:41 in step");

  EXPECT_FALSE(frames_.reads());
  EXPECT_EQ(Place(), "?");
}

}  // namespace
}  // namespace eidolon::shim::core
