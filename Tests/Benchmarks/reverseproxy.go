// What a Go programmer would write: net/http/httputil's reverse proxy with a header set on the way.
// Usage: reverseproxy LISTEN UPSTREAM TOKEN
package main

import (
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
)

// The copy buffers, reused as the documentation of httputil.BufferPool advises.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte      { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(bytes []byte) { b.pool.Put(&bytes) }

func main() {
	listen, token := os.Args[1], os.Args[3]
	upstream, err := url.Parse(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	direct := proxy.Director
	proxy.Director = func(request *http.Request) {
		direct(request)
		request.Header.Set("Authorization", "Bearer "+token)
	}
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	proxy.BufferPool = &buffers{sync.Pool{New: func() any {
		bytes := make([]byte, 32*1024)
		return &bytes
	}}}
	log.Fatal(http.ListenAndServe(listen, proxy))
}
