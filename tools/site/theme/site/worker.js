// The search runs in a worker.  A page that is opened as a file may not start one, so it runs in a
// hidden frame there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.inside.importScripts = (...urls) => urls.reduce((done, one) => done.then(() =>
        new Promise(resolve => {
          const script = this.inside.document.createElement("script");
          script.src = one;
          script.onload = script.onerror = resolve;
          this.inside.document.body.appendChild(script);
        })), Promise.resolve());
      const start = this.inside.document.createElement("script");
      start.src = new URL(url, location.href).href;
      start.onload = () => {
        this.waiting.forEach(data => this.send(data));
        this.waiting = null;
      };
      this.inside.document.body.appendChild(start);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.send(data);
    }
    send(data) {
      const event = new this.inside.MessageEvent("message", { data });
      if (this.inside.onmessage) this.inside.onmessage(event);
      else this.inside.dispatchEvent(event);
    }
    terminate() {}
  };
}
