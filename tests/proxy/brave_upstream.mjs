// Sends the server's requests to an upstream on this machine instead of Brave's API.
const ask = globalThis.fetch;
globalThis.fetch = (address, options) =>
  ask(String(address).replace("https://api.search.brave.com", process.env.UPSTREAM), options);
