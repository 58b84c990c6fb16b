// A trace has millions of packets and half of them end a slice, so these are written by hand, byte
// for byte as protobuf would; everything else goes through messages. Fields there have numbers
// below 16, and a packet is shorter than 128 bytes, hence tags and lengths take one byte. Numbers
// for interned names are valid only behind the packet that resets them, which Introduce writes
// first. Times are differences, so packets must leave in the order in which they were made.
#include "services/agent/timeline/trace_writer.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>

#include "eidolon/perfetto/v1/trace.pb.h"
#include "services/base/text.h"

namespace eidolon::agent::timeline {

namespace v1 = perfetto::v1;

namespace {

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::uint32_t kForgetInterned = 1;
constexpr std::uint32_t kNeedsInterned = 2;
// A packet of four numbers and nothing else; its length is one byte.
constexpr std::size_t kShortBytesMax = 64;
constexpr std::uint8_t kPacketTag = 0x0a;  // Trace.packet, length-delimited.
constexpr std::uint32_t kTraceClock = 6;   // What Perfetto calls the time since boot.
constexpr std::uint32_t kOwnClock = 64;    // Of the sequence alone.

void AppendPacket(const v1::TracePacket& packet, std::string* out) {
  const std::size_t bytes = packet.ByteSizeLong();
  std::uint8_t head[11] = {kPacketTag};
  const std::uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(
      bytes, static_cast<std::uint8_t*>(head) + 1);
  out->append(reinterpret_cast<const char*>(head), static_cast<std::size_t>(end - head));
  const std::size_t at = out->size();
  out->resize(at + bytes);
  packet.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out->data() + at));
}

// A field of a number below 16 that is a varint.
std::uint8_t* AddField(int number, std::uint64_t value, std::uint8_t* out) {
  *out++ = static_cast<std::uint8_t>(number << 3);
  return google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, out);
}

}  // namespace

TraceWriter::TraceWriter(const std::string& path, std::uint32_t sequence)
    : file_(path), sequence_(sequence), packet_(std::make_unique<v1::TracePacket>()) {
  Introduce();
}

TraceWriter::~TraceWriter() = default;

void TraceWriter::Introduce() {
  v1::ClockSnapshot* clocks = packet_->mutable_clock_snapshot();
  v1::ClockSnapshot::Clock* own = clocks->add_clocks();
  own->set_clock_id(kOwnClock);
  own->set_timestamp(0);
  own->set_is_incremental(true);
  v1::ClockSnapshot::Clock* shown = clocks->add_clocks();
  shown->set_clock_id(kTraceClock);
  shown->set_timestamp(0);
  packet_->mutable_trace_packet_defaults()->set_timestamp_clock_id(kOwnClock);
  flags_ = kForgetInterned | kNeedsInterned;
  Put();
  flags_ = kNeedsInterned;
}

std::uint64_t TraceWriter::Choose(std::uint64_t track) {
  const bool is_again = track == last_track_;
  last_track_ = track;
  if (track == default_track_) return 0;
  if (!is_again) return track;
  v1::TracePacketDefaults* defaults = packet_->mutable_trace_packet_defaults();
  defaults->set_timestamp_clock_id(kOwnClock);
  defaults->mutable_track_event_defaults()->set_track_uuid(track);
  Put();
  default_track_ = track;
  return 0;
}

std::uint64_t TraceWriter::Advance(base::SimTime at) {
  const std::uint64_t now_ns = Nanoseconds(at);
  const std::uint64_t since_ns = now_ns - time_ns_;
  time_ns_ = now_ns;
  return since_ns;
}

void TraceWriter::AddProcess(const Process& process) {
  v1::TrackDescriptor* track = packet_->mutable_track_descriptor();
  track->set_uuid(process.uuid);
  track->set_child_ordering(v1::TrackDescriptor::EXPLICIT);
  track->mutable_process()->set_pid(process.pid);
  track->mutable_process()->set_process_name(process.name);
  track->mutable_process()->set_legacy_sort_index(process.pid);
  Put();
}

void TraceWriter::AddDescriptor(const Track& track) {
  v1::TrackDescriptor* made = packet_->mutable_track_descriptor();
  made->set_uuid(track.uuid);
  if (track.parent != 0) made->set_parent_uuid(track.parent);
  made->set_name(track.name);
  made->set_description(track.description);
  made->set_child_ordering(v1::TrackDescriptor::EXPLICIT);
  made->set_sibling_order_rank(track.order);
}

void TraceWriter::AddTrack(const Track& track) {
  AddDescriptor(track);
  Put();
}

void TraceWriter::AddCounter(const Track& track, CounterUnit unit) {
  AddDescriptor(track);
  v1::CounterDescriptor* counter = packet_->mutable_track_descriptor()->mutable_counter();
  counter->set_unit(unit == CounterUnit::kBytes ? v1::CounterDescriptor::UNIT_SIZE_BYTES
                                                : v1::CounterDescriptor::UNIT_COUNT);
  Put();
}

std::uint64_t TraceWriter::Intern(Table* table, std::string_view name,
                                  v1::InternedName* (*add)(v1::TracePacket*)) {
  if (const auto found = table->find(name); found != table->end()) return found->second;
  const std::uint64_t number = table->size() + 1;
  table->emplace(name, number);
  v1::InternedName* interned = add(packet_.get());
  interned->set_iid(number);
  interned->set_name(std::string(name));
  return number;
}

void TraceWriter::Begin(const SliceBegin& slice) {
  const std::uint64_t track = Choose(slice.track);
  v1::TrackEvent* event = packet_->mutable_track_event();
  packet_->set_timestamp(Advance(slice.at));
  event->set_type(v1::TrackEvent::TYPE_SLICE_BEGIN);
  event->set_track_uuid(track);
  event->set_name_iid(Intern(&names_, slice.name, [](v1::TracePacket* packet) {
    return packet->mutable_interned_data()->add_event_names();
  }));
  event->add_category_iids(Intern(&categories_, slice.category, [](v1::TracePacket* packet) {
    return packet->mutable_interned_data()->add_event_categories();
  }));
  for (const std::uint64_t flow : slice.flows) event->add_flow_ids(flow);
  for (const std::uint64_t flow : slice.last_flows) event->add_terminating_flow_ids(flow);
  for (const Argument& argument : slice.arguments) {
    v1::DebugAnnotation* made = event->add_debug_annotations();
    made->set_name_iid(Intern(&argument_names_, argument.name, [](v1::TracePacket* packet) {
      return packet->mutable_interned_data()->add_debug_annotation_names();
    }));
    if (const auto* number = std::get_if<std::int64_t>(&argument.value)) {
      made->set_int_value(*number);
    } else if (const auto* real = std::get_if<double>(&argument.value)) {
      made->set_double_value(*real);
    } else {
      made->set_string_value_iid(
          Intern(&texts_, std::get<std::string_view>(argument.value), [](v1::TracePacket* packet) {
            return packet->mutable_interned_data()->add_debug_annotation_string_values();
          }));
    }
  }
  Put();
}

void TraceWriter::End(std::uint64_t track, base::SimTime at) {
  // Half of all packets: written without a message, which would give the same bytes.
  std::array<std::uint8_t, kShortBytesMax> event;
  std::uint8_t* end =
      AddField(v1::TrackEvent::kTypeFieldNumber, v1::TrackEvent::TYPE_SLICE_END, event.data());
  const std::uint64_t named = Choose(track);
  if (named != 0) end = AddField(v1::TrackEvent::kTrackUuidFieldNumber, named, end);
  std::array<std::uint8_t, kShortBytesMax> packet;
  std::uint8_t* at_end =
      AddField(v1::TracePacket::kTimestampFieldNumber, Advance(at), packet.data());
  at_end = AddField(v1::TracePacket::kTrustedPacketSequenceIdFieldNumber, sequence_, at_end);
  const auto bytes = static_cast<std::size_t>(end - event.data());
  *at_end++ = v1::TracePacket::kTrackEventFieldNumber << 3 | 2;  // Length-delimited.
  *at_end++ = static_cast<std::uint8_t>(bytes);
  at_end = std::copy_n(event.data(), bytes, at_end);
  at_end = AddField(v1::TracePacket::kSequenceFlagsFieldNumber, kNeedsInterned, at_end);
  block_ += static_cast<char>(kPacketTag);
  block_ += static_cast<char>(at_end - packet.data());
  block_.append(reinterpret_cast<const char*>(packet.data()),
                static_cast<std::size_t>(at_end - packet.data()));
  FlushWhenFull();
}

void TraceWriter::Count(std::uint64_t track, base::SimTime at, std::int64_t value) {
  const std::uint64_t named = Choose(track);
  packet_->set_timestamp(Advance(at));
  packet_->mutable_track_event()->set_type(v1::TrackEvent::TYPE_COUNTER);
  packet_->mutable_track_event()->set_track_uuid(named);
  packet_->mutable_track_event()->set_counter_value(value);
  Put();
}

void TraceWriter::Put() {
  packet_->set_trusted_packet_sequence_id(sequence_);
  packet_->set_sequence_flags(flags_);
  AppendPacket(*packet_, &block_);
  packet_->Clear();
  FlushWhenFull();
}

void TraceWriter::FlushWhenFull() {
  if (block_.size() < kBlockBytes) return;
  file_.Write(block_);
  block_.clear();
}

base::Result<void> TraceWriter::Finish() {
  file_.Write(block_);
  if (auto done = file_.Finish(); !done) {
    return base::Wrap("the timeline was not written", done.error());
  }
  return {};
}

}  // namespace eidolon::agent::timeline
