// Times of kernels from the rows that the product ships (kernel_profiles/): attention and fused
// experts of serving stacks, each by the kernel that was measured.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/embedded_rows.h"
#include "services/timing/model/kernel_class.h"
#include "services/timing/model/kernel_rows.h"
#include "services/timing/model/nearby_rows.h"

namespace eidolon::timing::model {

// One table, ready to be asked. Immutable; safe from any thread.
class PublishedKernel {
 public:
  // Requires: the table's name is that of a class with as many columns as the table has.
  PublishedKernel(const KernelRoof& roof, const KernelTable& table);

  struct Answer {
    double seconds = 0;
    double relative_error = 0;
    bool measured = false;  // A row.
    bool inside = false;    // Near to rows.
  };
  // `kernel` may differ from the table's class in head size and window; times then go by the roof.
  // `roof` is that of the GPU that is asked for.
  Answer Read(const KernelRoof& roof, const KernelClass& kernel,
              std::span<const double> sizes) const;
  // Reads the rows of the table's own GPU and class.
  Answer Read(std::span<const double> sizes) const { return Read(roof_, kernel_, sizes); }

  const KernelClass& kernel() const { return kernel_; }

 private:
  KernelRoof roof_;
  KernelClass kernel_;
  NearbyRows rows_;
};

KernelRows ReadEmbeddedKernels(const EmbeddedRows& file);
KernelRoof RoofOf(const KernelRows& rows);
KernelRoof RoofOf(const gpu_model::GpuModel& gpu);

// Files are read when they are first asked for, a table is made ready when it is. Safe from any
// thread.
class PublishedKernels {
 public:
  static const PublishedKernels& Get();

  struct Answer {
    PublishedKernel::Answer time;
    std::string gpu;  // Whose rows they are.
  };
  // The kernel's rows of this GPU, or of the most alike of the same architecture; of the nearest
  // head size and window that were measured. Nothing where the kernel has none.
  std::optional<Answer> Read(const gpu_model::GpuModel& gpu, const KernelClass& kernel,
                             std::span<const double> sizes) const;
  // Reads from another GPU's rows alone, of any architecture.
  std::optional<Answer> ReadCarried(const gpu_model::GpuModel& gpu, const KernelClass& kernel,
                                    std::span<const double> sizes) const;

 private:
  struct Tables {
    const EmbeddedRows* file = nullptr;
    std::once_flag once;
    KernelRoof roof;
    struct Entry {
      KernelClass kernel;
      const KernelTable* table = nullptr;
      std::once_flag once;
      std::unique_ptr<const PublishedKernel> ready;
    };
    KernelRows rows;
    std::vector<std::unique_ptr<Entry>> entries;
  };

  PublishedKernels();
  const PublishedKernel* Find(std::string_view gpu, const KernelClass& kernel) const;

  std::map<std::pair<std::string, std::string>, std::unique_ptr<Tables>> tables_;
};

}  // namespace eidolon::timing::model
