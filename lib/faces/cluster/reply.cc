#include "lib/faces/cluster/reply.h"

#include <hiredis/hiredis.h>

#include <cstddef>
#include <new>

namespace nestline { inline namespace v0_3 { namespace cluster {
namespace {

struct FreeReply {
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

Reply converted(const redisReply& from) {
  Reply reply;
  const auto text = [&] { return std::string(from.str, static_cast<std::size_t>(from.len)); };
  switch (from.type) {
    case REDIS_REPLY_STRING:
      return {Reply::Kind::bulk, 0, text(), {}};
    case REDIS_REPLY_STATUS:
      return {Reply::Kind::status, 0, text(), {}};
    case REDIS_REPLY_ERROR:
      return {Reply::Kind::error, 0, text(), {}};
    case REDIS_REPLY_INTEGER:
      return {Reply::Kind::integer, from.integer, {}, {}};
    case REDIS_REPLY_NIL:
      return reply;
    case REDIS_REPLY_ARRAY:
      reply.kind = Reply::Kind::array;
      reply.elements.reserve(from.elements);
      for (std::size_t i = 0; i < from.elements; ++i) {
        reply.elements.push_back(converted(*from.element[i]));
      }
      return reply;
    default:
      throw BadReply("it sent a reply of another protocol version");
  }
}

// With `more` arguments to follow.
std::string encode(const auto& arguments, std::size_t more = 0) {
  std::string bytes = "*" + std::to_string(arguments.size() + more) + "\r\n";
  for (const std::string_view argument : arguments) {
    bytes.append("$").append(std::to_string(argument.size())).append("\r\n");
    bytes.append(argument).append("\r\n");
  }
  return bytes;
}

}  // namespace

bool Reply::is_missing() const {
  return is_error() && (text == "ERR not found" || text == "ERR Not found");
}

const Reply* Reply::field(std::string_view name) const {
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text == name) return &elements[i + 1];
  }
  return nullptr;
}

void ReplyReader::Free::operator()(redisReader* reader) const noexcept { redisReaderFree(reader); }

ReplyReader::ReplyReader() : reader_(redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
}

void ReplyReader::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    if (reader_->err == REDIS_ERR_OOM) throw std::bad_alloc();
  }
}

std::optional<Reply> ReplyReader::next() {
  void* object = nullptr;
  if (redisReaderGetReply(reader_.get(), &object) != REDIS_OK) {
    if (reader_->err == REDIS_ERR_OOM) throw std::bad_alloc();
    throw BadReply("it sent what is not a reply of a Redis server");
  }
  if (object == nullptr) return std::nullopt;
  const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(object));
  return converted(*reply);
}

std::string encode_command(std::initializer_list<std::string_view> arguments) {
  return encode(arguments);
}

std::string encode_command(const std::vector<std::string>& arguments) { return encode(arguments); }

std::string encode_command_before(std::initializer_list<std::string_view> arguments,
                                  std::size_t payload) {
  return encode(arguments, 1) + "$" + std::to_string(payload) + "\r\n";
}

}}}  // namespace nestline::cluster
