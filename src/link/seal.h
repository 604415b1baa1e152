// Seal: how the two ends of a link prove to each other that they have the cluster's key.
//
// The request's header kLinkHeader is "VERSION MAC TICKET". MAC: HMAC-SHA256 over the version and
// the whole body, which names the sender, both incarnations and the counter (BatchHead). TICKET:
// one over the MAC and the length of the body, so that the head alone shows who sends the body. The
// response's is "VERSION PROOF": the highest version that the peer speaks, and an HMAC over it and
// the request's MAC. Each of them is 64 hex digits. This form is the same in every version.
//
// What it protects: nobody without the key can make a node take a request (ReplayGuard: nor the
// same one twice), or answer in a node's place on a connection of his own. What it does not: bytes
// are readable on the way, and whoever can change them on the way can change the frames of an
// answer; both need TLS (https in --advertise).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::link {

struct SealedHeader {
  uint32_t version = 0;
  std::string_view seal;    // a MAC or a proof, not checked yet
  std::string_view ticket;  // of a request
};
std::optional<SealedHeader> read_sealed_header(std::string_view value);
std::string sealed_header(uint32_t version, std::string_view seal);

class Seal {
 public:
  // `key`: ClusterKey::derive(cluster_id, "link"). Thread: any, after this.
  explicit Seal(std::string_view key);
  Seal(Seal&&) = delete;
  ~Seal();

  std::string mac_of(uint32_t version, std::string_view body) const;
  std::string ticket_of(const SealedHeader& header, std::string_view body_bytes) const;
  std::string request_header(uint32_t version, std::string_view mac, size_t body_bytes) const;
  std::string proof_of(uint32_t version, std::string_view mac) const;

 private:
  struct Parts;
  std::string digest(std::string_view purpose, uint32_t version, std::string_view bytes) const;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace pawl::link
