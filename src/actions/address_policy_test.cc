#include "actions/address_policy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace pawl::actions {
namespace {

bool is_public(const std::string& text) {
  sockaddr_in v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    return is_public_address(reinterpret_cast<sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
  v6.sin6_family = AF_INET6;
  return is_public_address(reinterpret_cast<sockaddr*>(&v6), sizeof v6);
}

TEST(AddressPolicy, RefusesWhatIsNotOnThePublicInternet) {
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.254",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.7",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.1",
                           "203.0.113.9",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::127.0.0.1",
                           "::ffff:127.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::a00:1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "2001:db8::1",
                           "2001::1",
                           "2002:7f00:1::",
                           "2002:a00:1::1",
                           "100::1"})
    EXPECT_FALSE(is_public(text)) << text;
}

TEST(AddressPolicy, LetsPublicAddressesThrough) {
  for (const char* text :
       {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1"})
    EXPECT_TRUE(is_public(text)) << text;
}

TEST(AddressPolicy, RefusesOtherFamiliesAndShortAddresses) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(reinterpret_cast<sockaddr*>(&local), sizeof local));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = inet_addr("1.1.1.1");
  EXPECT_FALSE(is_public_address(reinterpret_cast<sockaddr*>(&v4), sizeof v4 - 1));
}

}  // namespace
}  // namespace pawl::actions
