#include "http/testing/certificate.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>

namespace pawl::http {

Certificate::Certificate(const std::string& subject) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> x509(X509_new(), X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
  X509_set_version(x509.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(x509.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
  X509_set_pubkey(x509.get(), key.get());
  X509_NAME* name = X509_get_subject_name(x509.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a node"), -1, -1, 0);
  X509_set_issuer_name(x509.get(), name);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> alternative(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, subject.c_str()),
      X509_EXTENSION_free);
  X509_add_ext(x509.get(), alternative.get(), -1);
  X509_sign(x509.get(), key.get(), EVP_sha256());
  static std::atomic<int> made{0};
  const std::string stem =
      testing::TempDir() + "pawl_tls_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
  certificate_file = stem + ".crt";
  key_file = stem + ".key";
  FILE* out = std::fopen(certificate_file.c_str(), "w");
  PEM_write_X509(out, x509.get());
  std::fclose(out);
  out = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
}

Certificate::~Certificate() {
  std::remove(certificate_file.c_str());
  std::remove(key_file.c_str());
}

ServerConfig Certificate::config() const {
  ServerConfig config;
  config.tls_certificate_file = certificate_file;
  config.tls_key_file = key_file;
  return config;
}

}  // namespace pawl::http
