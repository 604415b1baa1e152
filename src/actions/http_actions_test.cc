#include "actions/http_actions.h"

#include <gtest/gtest.h>

#include <future>

#include "actions/host_policy.h"
#include "actions/testing/action_world.h"
#include "base/base64.h"

namespace pawl::actions {
namespace {

using Server = LoopbackServer;

Server::Handler always(std::string answer) {
  return [answer](const std::string&) { return answer; };
}

Server::Handler ok_handler() { return always(Server::answer("200 OK", "", "")); }

std::string redirect_to(const std::string& url, const std::string& status = "302 Found") {
  return Server::answer(status, "Location: " + url + "\r\n", "");
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ActionPolicy open_policy() { return ActionPolicy::local(); }

Value params(Value::Object members) { return members; }

TEST(HttpActions, OutputHasTheWholeAnswer) {
  Server server(always(Server::answer(
      "200 OK", "content-type: application/json; charset=utf-8\r\nx-many: 1\r\nX-Many: 2\r\n",
      R"({"a":[1,2.5]})")));
  ActionRunner runner(open_policy());
  ActionOutcome outcome = run(runner, "http.get", params({{"url", server.url("/x")}}));
  ASSERT_TRUE(outcome.ok) << outcome.message;
  EXPECT_GE(outcome.output.find("duration_ms")->as_int(), 0);
  outcome.output.as_object().erase("duration_ms");
  EXPECT_EQ(outcome.output.json(),
            R"({"status_code":200,"status":"200 OK","headers":{"Content-Length":"13",)"
            R"("Content-Type":"application/json; charset=utf-8","X-Many":"1"},)"
            R"("body":{"a":[1,2.5]},"content_type":"application/json; charset=utf-8"})");
}

TEST(HttpActions, BodiesAreWhatTheyAre) {
  ActionRunner runner(open_policy());
  auto body = [&](const std::string& headers, const std::string& bytes) {
    Server server(always(Server::answer("200 OK", headers, bytes)));
    ActionOutcome outcome = run(runner, "http.get", params({{"url", server.url()}}));
    const Value* encoding = outcome.output.find("body_encoding");
    return outcome.output.find("body")->json() +
           (encoding == nullptr ? "" : " " + encoding->as_string());
  };
  EXPECT_EQ(body("", ""), "null");
  EXPECT_EQ(body("Content-Type: text/plain\r\n", "[1]"), R"("[1]")");
  EXPECT_EQ(body("Content-Type: application/json\r\n", "{oops"), R"("{oops")");
  EXPECT_EQ(body("Content-Type: image/png\r\n", "\xff\x01"), R"("/wE=" base64)");
}

TEST(HttpActions, SendsQueryHeadersAuthAndBody) {
  Server server(ok_handler());
  ActionRunner runner(open_policy());
  auto sent = [&](const std::string& action, Value::Object members) {
    ActionRequest request;
    request.name = action;
    request.params = std::move(members);
    request.idempotency_key = "run/step/1";
    EXPECT_TRUE(run(runner, std::move(request)).ok);
    return server.requests().back();
  };
  std::string get = sent("http.get", {{"url", server.url("/p?a=1#frag")},
                                      {"query", json(R"({"b":"x y&","c":[1,true]})")},
                                      {"headers", json(R"({"X-N":5})")}});
  EXPECT_TRUE(holds(get, "GET /p?a=1&b=x%20y%26&c=1&c=true HTTP/1.1\r\n")) << get;
  EXPECT_TRUE(holds(get, "\r\nX-N: 5\r\n")) << get;
  EXPECT_TRUE(holds(get, "\r\nIdempotency-Key: run/step/1\r\n")) << get;

  std::string post = sent("http.post", {{"url", server.url()},
                                        {"body", json(R"({"a":1})")},
                                        {"headers", json(R"({"idempotency-key":"mine"})")},
                                        {"auth", json(R"({"type":"bearer","token":"t"})")}});
  EXPECT_TRUE(holds(post, "POST / HTTP/1.1\r\n") && holds(post, "\r\n\r\n{\"a\":1}")) << post;
  EXPECT_TRUE(holds(post, "\r\nContent-Type: application/json\r\n")) << post;
  EXPECT_TRUE(holds(post, "\r\nidempotency-key: mine\r\n")) << post;
  EXPECT_FALSE(holds(post, "run/step/1")) << post;
  EXPECT_TRUE(holds(post, "\r\nAuthorization: Bearer t\r\n")) << post;

  std::string form =
      sent("http.request", {{"url", server.url()},
                            {"method", "put"},
                            {"body_encoding", "form"},
                            {"body", json(R"({"k":"ä b","n":2})")},
                            {"auth", json(R"({"type":"basic","username":"u","password":"p"})")}});
  EXPECT_TRUE(holds(form, "PUT / HTTP/1.1\r\n") && holds(form, "\r\n\r\nk=%C3%A4%20b&n=2")) << form;
  EXPECT_TRUE(holds(form, "\r\nContent-Type: application/x-www-form-urlencoded\r\n")) << form;
  EXPECT_TRUE(holds(form, "\r\nAuthorization: Basic dTpw\r\n")) << form;

  std::string text =
      sent("http.post",
           {{"url", server.url()},
            {"body_encoding", "text"},
            {"body", 7},
            {"auth", json(R"({"type":"api_key","header_name":"X-Secret","header_value":"v"})")}});
  EXPECT_TRUE(holds(text, "\r\nContent-Type: text/plain\r\n") && holds(text, "\r\n\r\n7")) << text;
  EXPECT_TRUE(holds(text, "\r\nX-Secret: v\r\n")) << text;
}

TEST(HttpActions, ErrorStatusFailsOnlyWhenAskedTo) {
  ActionRunner runner(open_policy());
  auto told = [&](const std::string& status, bool fail) {
    Server server(always(Server::answer(status, "", "why")));
    ActionOutcome outcome =
        run(runner, "http.get", params({{"url", server.url()}, {"fail_on_error_status", fail}}));
    if (outcome.ok) return std::string("ok");
    EXPECT_EQ(outcome.details.find("body")->as_string(), "why");
    return story(outcome);
  };
  EXPECT_EQ(told("404 Not Found", false), "ok");
  EXPECT_EQ(told("200 OK", true), "ok");
  EXPECT_EQ(told("404 Not Found", true), "NON_RETRYABLE");
  EXPECT_EQ(told("408 Request Timeout", true), "EXECUTION_ERROR!");
  EXPECT_EQ(told("425 Too Early", true), "EXECUTION_ERROR!");
  EXPECT_EQ(told("429 Too Many Requests", true), "EXECUTION_ERROR!");
  EXPECT_EQ(told("503 Service Unavailable", true), "EXECUTION_ERROR!");
}

TEST(HttpActions, PolicyDecidesWhoIsReached) {
  Server server(ok_handler());
  auto told = [&](HttpPolicy http, const std::string& url) {
    ActionPolicy policy;
    policy.http = std::move(http);
    ActionRunner runner(policy);
    ActionOutcome outcome = run(runner, "http.get", params({{"url", url}}));
    return outcome.ok ? "ok" : story(outcome);
  };
  std::string by_name = "http://localhost:" + std::to_string(server.port()) + "/";
  EXPECT_EQ(told({}, server.url()), "PERMISSION_DENIED");
  EXPECT_EQ(told({}, by_name), "PERMISSION_DENIED");
  EXPECT_EQ(told({.allow_hosts = {"127.0.0.1:1"}}, server.url()), "PERMISSION_DENIED");
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(told({.allow_hosts = {server.host()}}, server.url()), "ok");
  EXPECT_EQ(told({.allow_hosts = {"LOCALHOST"}}, by_name), "ok");
  EXPECT_EQ(told({.allow_private = true, .deny_hosts = {"127.0.0.1"}}, server.url()),
            "PERMISSION_DENIED");
  // Another name or spelling of a denied address is denied when connecting.
  EXPECT_EQ(told({.allow_private = true, .deny_hosts = {"127.0.0.1", "::1"}}, by_name),
            "PERMISSION_DENIED");
  EXPECT_EQ(told({.allow_private = true, .deny_hosts = {"127.0.0.1"}},
                 "http://2130706433:" + std::to_string(server.port()) + "/"),
            "PERMISSION_DENIED");
  // Also when the name has another address without a listener.
  EXPECT_EQ(told({.allow_private = true, .deny_hosts = {"127.0.0.1"}}, by_name),
            "PERMISSION_DENIED");
}

// The kernel connects to loopback when it is asked for the unspecified address.
TEST(HttpActions, DenyingLoopbackDeniesTheUnspecifiedAddress) {
  Server server(ok_handler());
  auto told = [&](const std::string& denied, const std::string& host) {
    ActionPolicy policy;
    policy.http = {.allow_private = true, .deny_hosts = {denied}};
    ActionRunner runner(policy);
    const std::string url = "http://" + host + ":" + std::to_string(server.port()) + "/";
    ActionOutcome outcome = run(runner, "http.get", params({{"url", url}}));
    return outcome.ok ? "ok" : story(outcome);
  };
  EXPECT_EQ(told("127.0.0.2", "0.0.0.0"), "ok");
  EXPECT_EQ(told("127.0.0.1:1", "0.0.0.0"), "ok");
  EXPECT_EQ(server.requests().size(), 2u);
  for (const char* denied : {"127.0.0.1", "::1", "[::1]:*", "127.0.0.1:*"})
    for (const char* host : {"0.0.0.0", "0", "0x0", "00.0", "[::]", "[0:0:0:0:0:0:0:0]",
                             "[::ffff:0.0.0.0]", "[::ffff:0:0]", "[::0.0.0.0]"})
      EXPECT_EQ(told(denied, host), "PERMISSION_DENIED") << denied << " " << host;
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST(HttpActions, TheUnspecifiedAddressIsJudgedAsLoopback) {
  const HttpPolicy policy{.allow_private = true, .deny_hosts = {"127.0.0.1"}};
  for (const char* host : {"0.0.0.0", "0", "::", "[::]", "0:0:0:0:0:0:0:0"})
    EXPECT_EQ(judge_host(policy, host, 80), HostVerdict::Denied) << host;
  for (const char* host : {"", "a", "10.0.0.0", "::2", "0.example.com"})
    EXPECT_EQ(judge_host(policy, host, 80), HostVerdict::Any) << host;
}

TEST(HttpActions, RulesOfHosts) {
  EXPECT_TRUE(host_matches("example.com", "EXAMPLE.com.", 443));
  EXPECT_FALSE(host_matches("example.com", "a.example.com", 443));
  EXPECT_TRUE(host_matches("*.example.com", "b.a.example.com", 443));
  EXPECT_FALSE(host_matches("*.example.com", "example.com", 443));
  EXPECT_FALSE(host_matches("*.example.com", "badexample.com", 443));
  EXPECT_TRUE(host_matches("example.com:8080", "example.com", 8080));
  EXPECT_FALSE(host_matches("example.com:8080", "example.com", 443));
  EXPECT_TRUE(host_matches("::1", "::1", 80));
  EXPECT_TRUE(host_matches("[::1]:80", "::1", 80));
  EXPECT_FALSE(host_matches("[::1]:80", "::1", 81));
  EXPECT_FALSE(host_matches("", "", 80));
}

// The first host is allowed, the redirect target is not: the second server must get no request.
TEST(HttpActions, ARedirectIsJudgedLikeARequest) {
  Server inner(ok_handler());
  Server outer(always(redirect_to(inner.url("/secret"))));
  ActionPolicy policy;
  policy.http.allow_hosts = {outer.host()};
  ActionRunner runner(policy);
  EXPECT_EQ(story(run(runner, "http.get", params({{"url", outer.url()}}))), "PERMISSION_DENIED");
  EXPECT_TRUE(inner.requests().empty());
  for (const char* where : {"http://169.254.169.254/latest/meta-data/", "http://[::1]/"}) {
    Server metadata(always(redirect_to(where)));
    ActionPolicy other;
    other.http.allow_hosts = {metadata.host()};
    ActionRunner judge(other);
    EXPECT_EQ(story(run(judge, "http.get", params({{"url", metadata.url()}}))),
              "PERMISSION_DENIED");
  }
  for (const char* where : {"file:///etc/passwd", "http://user:pw@127.0.0.1/", "gopher://x/"}) {
    Server astray(always(redirect_to(where)));
    ActionRunner open(open_policy());
    EXPECT_EQ(story(run(open, "http.get", params({{"url", astray.url()}}))), "VALIDATION_ERROR")
        << where;
  }
}

TEST(HttpActions, CredentialsStayWithTheirOrigin) {
  Server other(ok_handler());
  Server first([&](const std::string& request) {
    if (holds(request, "GET /same ")) return redirect_to("/final");
    if (holds(request, "GET /away ")) return redirect_to(other.url("/final"));
    return Server::answer("200 OK", "", "");
  });
  ActionRunner runner(open_policy());
  auto sent_on = [&](Server& server, const std::string& path, Value auth) {
    EXPECT_TRUE(run(runner, "http.get",
                    params({{"url", first.url(path)},
                            {"headers", json(R"({"Cookie":"c","X-Auth-Token":"h","X-Plain":"p"})")},
                            {"auth", std::move(auth)}}))
                    .ok);
    std::string request = server.requests().back();
    EXPECT_TRUE(holds(request, "GET /final ")) << request;
    EXPECT_TRUE(holds(request, "X-Plain: p")) << request;
    return std::string(holds(request, "Cookie") ? "cookie " : "") +
           (holds(request, "X-Auth-Token") ? "token " : "") +
           (holds(request, "Authorization") ? "auth " : "") +
           (holds(request, "X-Odd") ? "odd " : "");
  };
  Value bearer = json(R"({"type":"bearer","token":"t"})");
  Value odd = json(R"({"type":"api_key","header_name":"X-Odd","header_value":"t"})");
  EXPECT_EQ(sent_on(first, "/same", bearer), "cookie token auth ");
  EXPECT_EQ(sent_on(other, "/away", bearer), "");
  EXPECT_EQ(sent_on(first, "/same", odd), "cookie token odd ");
  EXPECT_EQ(sent_on(other, "/away", odd), "");
}

// A secret in any header or body goes only to the first server.
TEST(HttpActions, SecretsDoNotFollowARedirectElsewhere) {
  Server other(always(Server::answer("200 OK", "", "")));
  Server first([&](const std::string& request) {
    return redirect_to(other.url("/final"),
                       holds(request, " /again ") ? "307 Temporary" : "302 Found");
  });
  ActionRunner runner(open_policy());
  auto sent = [&](const std::string& path, const std::string& param, const std::string& member) {
    ActionRequest request;
    request.name = "http.post";
    request.params = params({{"url", first.url(path)},
                             {"headers", json(R"({"X-Custom":"hush","X-Plain":"p"})")},
                             {"body", "hush"}});
    request.secrets = {{"$", "hush", "T", param, member, {}}};
    return story(run(runner, std::move(request))).substr(0, 13);
  };
  EXPECT_EQ(sent("/", "headers", "X-Custom").substr(0, 1), "{");
  EXPECT_TRUE(holds(first.requests().back(), "X-Custom: hush"));
  EXPECT_FALSE(holds(other.requests().back(), "hush")) << other.requests().back();
  EXPECT_TRUE(holds(other.requests().back(), "X-Plain: p"));
  size_t before = other.requests().size();
  EXPECT_EQ(sent("/again", "body", ""), "SECRET_DENIED");
  EXPECT_EQ(other.requests().size(), before);
  EXPECT_EQ(sent("/again", "headers", "X-Custom").substr(0, 1), "{");
  EXPECT_FALSE(holds(other.requests().back(), "X-Custom"));
}

// A service may redirect with an unchanged query.
TEST(HttpActions, ASecretDoesNotFollowInTheAddressOfARedirect) {
  Server other(always(Server::answer("200 OK", "", "")));
  Server first([&](const std::string& request) {
    return redirect_to(holds(request, "GET /near") ? "/far?k=a%2fb%2Fsecret"
                                                   : other.url("/?k=a%2fb%2Fsecret"));
  });
  ActionRunner runner(open_policy());
  auto sent = [&](const std::string& path, std::vector<std::string> hosts) {
    ActionRequest request;
    request.name = "http.get";
    request.params = params({{"url", first.url(path)}, {"query", json(R"({"k":"a/b/secret"})")}});
    request.secrets = {{"$", "a/b/secret", "T", "query", "k", std::move(hosts)}};
    return story(run(runner, std::move(request))).substr(0, 13);
  };
  EXPECT_EQ(sent("/", {}), "SECRET_DENIED");
  EXPECT_EQ(sent("/near", {}), "SECRET_DENIED");
  EXPECT_EQ(first.requests().size(), 3u);  // within its origin the redirect was followed
  EXPECT_EQ(other.requests().size(), 0u);
  EXPECT_EQ(sent("/", {"127.0.0.1"}).substr(0, 1), "{");  // set for both
}

// Escaped secrets could not be found in the base64 of an output.
TEST(HttpActions, BytesAreBlottedBeforeTheyAreEncoded) {
  Server server(always(Server::answer("200 OK", "", "\xff s%2fcret-value")));
  ActionRunner runner(open_policy());
  ActionRequest request;
  request.name = "http.get";
  request.params = params({{"url", server.url()}});
  request.secrets = {{"$", "s/cret-value", "T", "headers", "A", {}}};
  EXPECT_EQ(run(runner, std::move(request)).output.find("body")->as_string(), base64("\xff ***"));
}

TEST(HttpActions, ASecretGoesToItsHostsOnly) {
  Server other(always(Server::answer("200 OK", "", "")));
  Server first([&](const std::string&) {
    return redirect_to("http://localhost:" + std::to_string(other.port()) + "/");
  });
  ActionRunner runner(open_policy());
  auto sent = [&](std::vector<std::string> hosts) {
    ActionRequest request;
    request.name = "http.get";
    request.params = params({{"url", first.url("/")}, {"headers", json(R"({"A":"hush"})")}});
    request.secrets = {{"$", "hush", "T", "headers", "A", std::move(hosts)}};
    return story(run(runner, std::move(request))).substr(0, 13);
  };
  EXPECT_EQ(sent({"api.example.com", "*.0.0.2"}), "SECRET_DENIED");
  EXPECT_EQ(sent({"127.0.0.1:1"}), "SECRET_DENIED");
  EXPECT_EQ(first.requests().size(), 0u);
  EXPECT_EQ(sent({"127.0.0.1"}), "SECRET_DENIED");  // the redirect leaves them
  EXPECT_EQ(first.requests().size(), 1u);
  EXPECT_EQ(other.requests().size(), 0u);
  EXPECT_EQ(sent({"127.0.0.1", "localhost"}).substr(0, 1), "{");
}

TEST(HttpActions, FramingAndRoutingHeadersAreTheClients) {
  Server server(always(Server::answer("200 OK", "", "")));
  ActionRunner runner(open_policy());
  for (const char* name : {"Content-Length", "transfer-encoding", "HOST", "Connection", "Upgrade",
                           "TE", "Trailer", "Keep-Alive", "Proxy-Authorization", "Expect"}) {
    ActionOutcome outcome =
        run(runner, "http.post",
            params({{"url", server.url()}, {"headers", Value::Object{{name, "1"}}}}));
    EXPECT_EQ(story(outcome), "VALIDATION_ERROR") << name;
    EXPECT_TRUE(holds(outcome.message, name)) << outcome.message;
    EXPECT_EQ(
        story(run(
            runner, "http.get",
            params({{"url", server.url()},
                    {"auth",
                     Value::Object{{"type", "api_key"}, {"header_name", name}, {"token", "t"}}}}))),
        "VALIDATION_ERROR");
  }
  EXPECT_EQ(
      story(run(runner, "http.request", params({{"url", server.url()}, {"method", "CONNECT"}}))),
      "VALIDATION_ERROR");
  EXPECT_EQ(server.requests().size(), 0u);
}

TEST(HttpActions, BoundsTheHeadersOfTheAnswer) {
  std::string many;
  for (int i = 0; i < 1100; ++i) many += "X-" + std::to_string(i) + ": 1\r\n";
  Server crowd(always(Server::answer("200 OK", many, "")));
  ActionRunner runner(open_policy());
  EXPECT_EQ(story(run(runner, "http.get", params({{"url", crowd.url()}}))), "NON_RETRYABLE");
}

TEST(HttpActions, RedirectsKeepOrChangeTheMethod) {
  ActionRunner runner(open_policy());
  auto second = [&](const std::string& status) {
    Server server([&](const std::string& request) {
      return holds(request, " /next ") ? Server::answer("200 OK", "", "")
                                       : redirect_to("/next", status);
    });
    EXPECT_TRUE(run(runner, "http.post", params({{"url", server.url("/x")}, {"body", 1}})).ok);
    std::string request = server.requests().back();
    return request.substr(0, request.find(' ')) + (holds(request, "\r\n\r\n1") ? " body" : "") +
           (holds(request, "Content-Type") ? " type" : "");
  };
  EXPECT_EQ(second("301 Moved"), "GET");
  EXPECT_EQ(second("303 See Other"), "GET");
  EXPECT_EQ(second("307 Temporary"), "POST body type");
  EXPECT_EQ(second("308 Permanent"), "POST body type");
}

TEST(HttpActions, RedirectsEnd) {
  Server loop([](const std::string&) { return redirect_to("/again"); });
  ActionRunner runner(open_policy());
  EXPECT_EQ(story(run(runner, "http.get", params({{"url", loop.url()}, {"max_redirects", 3}}))),
            "NON_RETRYABLE");
  EXPECT_EQ(loop.requests().size(), 4u);
  ActionOutcome kept =
      run(runner, "http.get", params({{"url", loop.url()}, {"follow_redirects", false}}));
  EXPECT_EQ(kept.output.find("status_code")->as_int(), 302);
}

TEST(HttpActions, BoundsTheAnswerInSizeAndTime) {
  Server large(always(Server::answer("200 OK", "", std::string(1001, 'x'))));
  ActionPolicy policy = open_policy();
  policy.output_bytes_max = 1000;
  ActionRunner runner(policy);
  EXPECT_EQ(story(run(runner, "http.get", params({{"url", large.url()}}))), "NON_RETRYABLE");
  Server silent(always(""));
  EXPECT_EQ(story(run(runner, "http.get", params({{"url", silent.url()}, {"timeout", "50ms"}}))),
            "TIMEOUT_ERROR!");
  ActionRequest request;
  request.name = "http.get";
  request.params = params({{"url", silent.url()}, {"timeout", "1h"}});
  request.timeout_ms = 50;
  EXPECT_EQ(story(run(runner, std::move(request))), "TIMEOUT_ERROR!");
}

TEST(HttpActions, RefusesWhatIsNoRequest) {
  ActionRunner runner(open_policy());
  auto told = [&](const std::string& text) {
    return story(run(runner, "http.request", json(text)));
  };
  EXPECT_EQ(told(R"({})"), "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"ftp://a/"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"http://a/","method":"A B"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"http://a/","headers":{"X":"a\r\nY: b"}})"), "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"http://a/","auth":{"type":"bearer","token":"a\nb"}})"),
            "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"http://a/","timeout":"soon"})"), "VALIDATION_ERROR");
  EXPECT_EQ(told(R"({"url":"http://a/","body_encoding":"xml","body":1})"), "VALIDATION_ERROR");
  // Nothing listens there: the failure is retryable.
  EXPECT_EQ(told(R"({"url":"http://127.0.0.1:1/"})"), "EXECUTION_ERROR!");
}

TEST(HttpActions, CancellingEndsARequestUnderWay) {
  Server silent(always(""));
  ActionRunner runner(open_policy());
  std::promise<std::string> told;
  ActionRequest request;
  request.name = "http.get";
  request.params = params({{"url", silent.url()}, {"timeout", "1h"}});
  uint64_t handle = runner.start(std::move(request),
                                 [&](ActionOutcome outcome) { told.set_value(story(outcome)); });
  silent.wait_for_request();
  runner.cancel(handle);
  EXPECT_EQ(told.get_future().get(), "CANCELLED");
  runner.cancel(handle);  // and it is not answered twice
}

}  // namespace
}  // namespace pawl::actions
