// Has the server ask an upstream of this machine in place of Brave's.
const ask = globalThis.fetch;
globalThis.fetch = (address, options) =>
  ask(String(address).replace("https://api.search.brave.com", process.env.UPSTREAM), options);
