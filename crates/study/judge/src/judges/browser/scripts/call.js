// One end of a WebRTC call: a camera's picture and sound in both directions. The driver carries the offer and the answer
// from one end to the other; candidates are in them.
"use strict";

// Milliseconds from one sample of the statistics to the next.
const INTERVAL = 500;
// What is kept of the statistics.
const KINDS = ["inbound-rtp", "outbound-rtp", "remote-inbound-rtp", "candidate-pair", "transport", "codec"];

const connection = new RTCPeerConnection();

const call = {
  samples: [],

  // Opens the camera; what it sees is sent.
  async open(width, height, rate) {
    const video = { width: { exact: width }, height: { exact: height }, frameRate: { exact: rate } };
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true, video });
    for (const track of stream.getTracks()) connection.addTrack(track, stream);
  },

  async offer() {
    await connection.setLocalDescription(await connection.createOffer());
    return whole();
  },

  async answer(offer) {
    await connection.setRemoteDescription(offer);
    await connection.setLocalDescription(await connection.createAnswer());
    return whole();
  },

  async accept(answer) {
    await connection.setRemoteDescription(answer);
  },

  // Whether pictures come in.
  async runs() {
    const stats = [...(await connection.getStats()).values()];
    return stats.some((stat) => stat.type === "inbound-rtp" && stat.kind === "video" && stat.framesDecoded > 0);
  },

  states() {
    return `${connection.iceConnectionState}, ${connection.connectionState}`;
  },

  // Samples the statistics from now on.
  async watch() {
    await this.sample();
    this.timer = setInterval(() => this.sample(), INTERVAL);
  },

  // The last sample, and all of them.
  async result() {
    clearInterval(this.timer);
    await this.sample();
    return this.samples;
  },

  async sample() {
    const stats = [...(await connection.getStats()).values()];
    this.samples.push(stats.filter(
      (stat) => KINDS.includes(stat.type) && (stat.type !== "candidate-pair" || stat.nominated)));
  },
};

connection.addEventListener("track", ({ track, streams }) => {
  if (track.kind !== "video") return;
  const video = document.createElement("video");
  Object.assign(video, { muted: true, autoplay: true, srcObject: streams[0] });
  document.body.append(video);
});

// The local description once it has all candidates: of two hosts that reach one another there are few.
async function whole() {
  while (connection.iceGatheringState !== "complete") {
    await new Promise((resolve) => {
      connection.addEventListener("icegatheringstatechange", resolve, { once: true });
    });
  }
  const { type, sdp } = connection.localDescription;
  return { type, sdp };
}
