// Search runs in a worker, and browsers start none for a page that was opened as a file. There this worker
// runs in a hidden frame instead; on a server nothing is changed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.appendChild(frame);
      const inside = frame.contentWindow;
      const load = (source) =>
        new Promise((done, failed) => {
          const script = frame.contentDocument.createElement("script");
          script.src = source;
          script.onload = done;
          script.onerror = failed;
          frame.contentDocument.body.appendChild(script);
        });
      const answer = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.frame = frame;
      inside.postMessage = (data) => setTimeout(() => answer(data));
      inside.importScripts = (...sources) => Promise.all(sources.map(load));
      this.ready = load(new URL(url, location.href).href);
    }

    postMessage(data) {
      const event = new MessageEvent("message", { data });
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(event));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
