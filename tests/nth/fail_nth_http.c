/*
 * fail_nth_http.c: calls of the program into libcurl. They fail for want of memory (ENOMEM), or a
 * request that was answered is told to have broken off (after).
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdarg.h>
#include <stddef.h>

#include "fail_nth.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

#define HTTP_CALL(type, name, failure, params, args)                                               \
    type name params                                                                               \
    {                                                                                              \
        return FAILS(HTTP, ASKS, name) ? (failure) : REAL(name) args;                              \
    }

HTTP_CALL(CURLcode, curl_global_init, CURLE_OUT_OF_MEMORY, (long flags), (flags))
HTTP_CALL(CURL *, curl_easy_init, NULL, (void), ())
HTTP_CALL(CURLM *, curl_multi_init, NULL, (void), ())
HTTP_CALL(CURLU *, curl_url, NULL, (void), ())
HTTP_CALL(struct curl_slist *, curl_slist_append, NULL,
          (struct curl_slist * list, const char *text), (list, text))
HTTP_CALL(CURLMcode, curl_multi_add_handle, CURLM_OUT_OF_MEMORY, (CURLM * multi, CURL *easy),
          (multi, easy))
HTTP_CALL(CURLMcode, curl_multi_perform, CURLM_OUT_OF_MEMORY, (CURLM * multi, int *running),
          (multi, running))
HTTP_CALL(CURLMcode, curl_multi_poll, CURLM_OUT_OF_MEMORY,
          (CURLM * multi, struct curl_waitfd *more, unsigned count, int timeout_ms, int *ready),
          (multi, more, count, timeout_ms, ready))

/* The values are pointers, long or curl_off_t: of one size, and passed alike. */
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...)
{
    va_list args;
    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    _Static_assert(sizeof value == sizeof(long) && sizeof value == sizeof(curl_off_t), "alike");
    if (FAILS(HTTP, ASKS, curl_easy_setopt))
        return CURLE_OUT_OF_MEMORY;
    return REAL(curl_easy_setopt)(easy, option, value);
}

/* The text of an URL's parts is copied. */
HTTP_CALL(CURLUcode, curl_url_set, CURLUE_OUT_OF_MEMORY,
          (CURLU * url, CURLUPart part, const char *text, unsigned flags), (url, part, text, flags))

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    static __thread CURLMsg told;
    CURLMsg *message = REAL(curl_multi_info_read)(multi, left);
    if (message == NULL || message->msg != CURLMSG_DONE || message->data.result != CURLE_OK ||
        !FAILS(HTTP, TELLS, curl_multi_info_read))
        return message;
    told = *message;
    told.data.result = CURLE_RECV_ERROR;
    return &told;
}
