/*
 * Search in a site that is opened from disk.
 *
 * Browsers start no worker from a file: address. Here the script of a worker runs in a hidden frame
 * of the page instead, which a page from disk may have; messages go both ways as in a real worker.
 */
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.onmessage = null
      this.frame = document.createElement('iframe')
      this.frame.hidden = true
      this.frame.srcdoc = '<!doctype html>' // of the same origin as the page
      this.ready = new Promise(resolve => {
        this.frame.onload = () => this.start(new URL(address, location.href), resolve)
      })
      ;(document.body || document.documentElement).append(this.frame)
    }

    start(address, resolve) {
      const inside = this.frame.contentWindow
      // what the worker says
      inside.postMessage = data => {
        const event = new MessageEvent('message', { data })
        if (this.onmessage) this.onmessage(event)
        this.dispatchEvent(event)
      }
      inside.importScripts = () => {} // only languages other than English load more
      const script = inside.document.createElement('script')
      script.src = address
      script.onload = resolve
      inside.document.body.append(script)
    }

    // what the worker hears
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow
        const event = new inside.MessageEvent('message', { data })
        if (inside.onmessage) inside.onmessage(event)
        inside.dispatchEvent(event)
      })
    }

    terminate() {
      this.frame.remove()
    }
  }
}
