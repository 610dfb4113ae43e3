// Search runs in a worker, which browsers refuse to start for pages opened from the disk. There, a hidden frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        this.onmessage?.(event)
      }
      this.inside.importScripts = () => {}
      const script = this.inside.document.createElement("script")
      script.src = url
      script.onload = () => {
        this.ready = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      }
      this.inside.document.head.appendChild(script)
    }

    postMessage(data) {
      if (this.ready) this.inside.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
