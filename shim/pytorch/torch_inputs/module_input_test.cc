// A stand-in for the interpreter: objects of its few types, kept until a test ends.
#include "shim/pytorch/torch_inputs/module_input.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/pytorch/torch_inputs/program_inputs.h"

namespace eidolon::shim::torch_inputs {
namespace {

struct Object {
  const void* type = nullptr;
  std::vector<Object*> elements;
  std::map<std::string, Object*, std::less<>> fields;  // Of a dict: its items.
  long long number = 0;
};

// Their addresses are types.
Object tensor_type, subclass_type, list_type, tuple_type, dict_type, number_type, module_type,
    torch_module;
std::vector<std::unique_ptr<Object>> objects;

Object* Make(const Object& type) {
  objects.push_back(std::make_unique<Object>());
  objects.back()->type = &type;
  return objects.back().get();
}
Object& As(void* object) { return *static_cast<Object*>(object); }

Object* Number(long long value) {
  Object* const number = Make(number_type);
  number->number = value;
  return number;
}
Object* List(std::vector<Object*> elements, const Object& type = list_type) {
  Object* const list = Make(type);
  list->elements = std::move(elements);
  return list;
}
Object* Tuple(std::vector<Object*> elements) { return List(std::move(elements), tuple_type); }
Object* Dict(std::map<std::string, Object*, std::less<>> items) {
  Object* const dict = Make(dict_type);
  dict->fields = std::move(items);
  return dict;
}
Object* Tensor(std::initializer_list<long long> sizes) {
  Object* const shape = Make(tuple_type);
  for (const long long size : sizes) shape->elements.push_back(Number(size));
  Object* const tensor = Make(tensor_type);
  tensor->fields["shape"] = shape;
  return tensor;
}
Object* Module(std::map<std::string, Object*, std::less<>> fields = {}) {
  Object* const module = Make(module_type);
  module->fields["__dict__"] = Dict(std::move(fields));
  return module;
}

void* FieldNamed(void* object, const char* name) {
  const auto found = As(object).fields.find(std::string_view(name));
  return found == As(object).fields.end() ? nullptr : found->second;
}

Python FakePython() {
  torch_module.fields["Tensor"] = &tensor_type;
  Python python;
  python.attribute = FieldNamed;
  python.mapping_item = FieldNamed;
  python.dict_item = FieldNamed;
  python.dict_values = [](void* dict) -> void* {
    std::vector<Object*> values;
    for (const auto& [name, value] : As(dict).fields) values.push_back(value);
    return List(std::move(values));
  };
  python.sequence_item = [](void* sequence, std::ptrdiff_t index) -> void* {
    return As(sequence).elements[static_cast<std::size_t>(index)];
  };
  python.size = [](void* object) { return std::ssize(As(object).elements); };
  python.type = [](void* object) { return const_cast<void*>(As(object).type); };
  python.is_subtype = [](void* type, void* base) {
    return type == base || (type == &subclass_type && base == &tensor_type) ? 1 : 0;
  };
  python.is_true = [](void* object) { return As(object).number != 0 ? 1 : 0; };
  python.number = [](void* object) { return As(object).number; };
  python.module = [](const char*) -> void* { return &torch_module; };
  python.release = [](void*) {};
  python.clear_error = [] {};
  python.list_type = &list_type;
  python.tuple_type = &tuple_type;
  python.dict_type = &dict_type;
  return python;
}

class ModuleInputTest : public testing::Test {
 protected:
  void TearDown() override { objects.clear(); }

  std::uint64_t Samples(std::vector<Object*> arguments,
                        std::map<std::string, Object*, std::less<>> named = {},
                        Object* module = nullptr) {
    return Input(std::move(arguments), std::move(named), module).samples;
  }
  ModuleInput Input(std::vector<Object*> arguments,
                    std::map<std::string, Object*, std::less<>> named = {},
                    Object* module = nullptr) {
    static const Python python = FakePython();
    // Answers are kept by the module's address: each is a new one.
    kept_.push_back(std::make_unique<Object>());
    if (module == nullptr) module = Module();
    *kept_.back() = *module;
    return InputOf(python, kept_.back().get(), Tuple(std::move(arguments)), Dict(std::move(named)));
  }

 private:
  static inline std::vector<std::unique_ptr<Object>> kept_;
};

TEST_F(ModuleInputTest, SamplesAreTheFirstDimensionThatTensorsHaveInCommon) {
  EXPECT_EQ(Samples({Tensor({64, 256})}), 64u);
  EXPECT_EQ(Samples({Tensor({8, 3, 224, 224}), Number(7)}), 8u);
  EXPECT_EQ(Samples({Tensor({4, 4, 32, 32}), Tensor({4})}, {{"states", Tensor({4, 16, 64})}}), 4u);
  EXPECT_EQ(Samples({Tensor({16, 10}), Tensor({})}), 16u);
  EXPECT_EQ(Samples({Dict({{"x", Tensor({32, 5})}, {"y", Tensor({32})}})}), 32u);
  EXPECT_EQ(Samples({Tuple({Tensor({16, 64}), Tensor({16})}), Number(3)}), 16u);
  EXPECT_EQ(Samples({Tensor({1, 64})}), 1u);
}

TEST_F(ModuleInputTest, AMaskForAllSamplesDoesNotCount) {
  EXPECT_EQ(Samples({Tensor({8, 3, 16, 16}), Tensor({1, 1, 16, 16})}), 8u);
}

TEST_F(ModuleInputTest, TensorsThatDisagreeTellNoSamples) {
  EXPECT_EQ(Samples({Tensor({2708, 1433}), Tensor({2, 10556})}), 0u);  // A graph's nodes and edges.
  EXPECT_EQ(Samples({Tensor({1280}), Tensor({512})}), 0u);             // Bags of indices.
  EXPECT_EQ(Samples({Number(5)}), 0u);
  EXPECT_EQ(Samples({}), 0u);
}

TEST_F(ModuleInputTest, ATensorOfASubclassTellsNoSamples) {
  Object* const distributed = Tensor({64, 256});
  distributed->type = &subclass_type;

  EXPECT_EQ(Samples({distributed}), 0u);
  EXPECT_EQ(Samples({distributed, Tensor({8, 256})}), 0u);
}

TEST_F(ModuleInputTest, AListOfImagesHasASampleForEach) {
  EXPECT_EQ(Samples({List({Tensor({3, 256, 200}), Tensor({3, 256, 256})}),
                     List({Dict({{"boxes", Tensor({5, 4})}})})}),
            2u);
  // Crops of several sizes of the same images.
  EXPECT_EQ(Samples({List({Tensor({8, 3, 224, 224}), Tensor({8, 3, 96, 96})})}), 8u);
}

TEST_F(ModuleInputTest, TokensAreThoseOfHuggingFacesModels) {
  const ModuleInput input =
      Input({}, {{"input_ids", Tensor({2, 64})}, {"pixel_values", Tensor({10, 3, 56, 56})}});
  EXPECT_EQ(input.samples, 2u);
  EXPECT_EQ(input.tokens, 128u);
  EXPECT_EQ(Input({Tensor({2, 64})}).tokens, 0u);
}

TEST_F(ModuleInputTest, SequencesThatMayComeFirstTellNoSamples) {
  Object* const recurrent = Module({{"batch_first", Number(0)}});
  Object* const model = Module({{"_modules", Dict({{"body", recurrent}})}});
  EXPECT_EQ(Samples({Tensor({200, 8, 80})}, {}, model), 0u);
  EXPECT_EQ(Samples({Tensor({200, 8})}, {}, model), 0u);
  EXPECT_EQ(Samples({Tensor({8, 3, 224, 224})}, {}, model), 8u);

  Object* const batched = Module({{"batch_first", Number(1)}});
  EXPECT_EQ(Samples({Tensor({8, 200, 80})}, {}, Module({{"_modules", Dict({{"a", batched}})}})),
            8u);
}

TEST(FunctionOfTest, ChoosesPyTorchsFunctionsByFileAndName) {
  EXPECT_EQ(FunctionOf("/e/torch/nn/modules/module.py", "_call_impl"), Function::kModuleCall);
  EXPECT_EQ(FunctionOf("/e/mine/module.py", "_call_impl"), Function::kNone);
  EXPECT_EQ(FunctionOf("/e/torch/utils/data/dataloader.py", "_next_index"), Function::kNextIndex);
  EXPECT_EQ(FunctionOf("/e/torchdata/stateful_dataloader/stateful_dataloader.py", "_next_index"),
            Function::kNextIndex);
  EXPECT_EQ(
      FunctionOf("/e/torch/distributed/tensor/experimental/_attention.py", "context_parallel"),
      Function::kContextParallel);
  EXPECT_EQ(FunctionOf("train.py", "forward"), Function::kNone);
}

}  // namespace
}  // namespace eidolon::shim::torch_inputs
