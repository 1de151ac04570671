/** Makes some machines, posts them and ends. */
import { parentPort } from 'node:worker_threads';
import { FingerprintGenerator, type FingerprintGeneratorOptions } from 'fingerprint-generator';
import type { Machine, Machines } from './machine.js';

/** Of each kind; a small installation does not seem to own more machines than that. */
const WANTED = 24;
const MAX_TRIES = 400;
const MAX_TASK_BAR = 80;

const generator = new FingerprintGenerator();
const machines: Machines = {
  desktop: make({ devices: ['desktop'], operatingSystems: ['linux'] }, isOrdinaryDesktop),
  phone: make({ devices: ['mobile'], operatingSystems: ['android'] }, isOrdinaryPhone),
};
parentPort?.postMessage(machines);

function make(kind: Partial<FingerprintGeneratorOptions>, isOrdinary: (machine: Machine) => boolean): Machine[] {
  const made: Machine[] = [];
  for (let tries = 0; tries < MAX_TRIES && made.length < WANTED; tries++) {
    const machine = readMachine(kind);
    if (isOrdinary(machine)) made.push(machine);
  }
  return made;
}

function readMachine(kind: Partial<FingerprintGeneratorOptions>): Machine {
  const { fingerprint } = generator.getFingerprint({ browsers: ['chrome'], locales: ['en-US'], ...kind });
  const { width, height, availHeight, devicePixelRatio } = fingerprint.screen;
  const { vendor, renderer } = fingerprint.videoCard;
  const taskBar = height - availHeight;
  const isPlain = kind.devices?.[0] === 'mobile' || devicePixelRatio === 1;
  return { screen: isPlain ? { width, height } : { width: 0, height: 0 }, taskBar, videoCard: { vendor, renderer } };
}

/** What people report is not always what they have: phones as desktops, cards that Linux does not know. */
function isOrdinaryDesktop({ screen, taskBar, videoCard }: Machine): boolean {
  const isWide = screen.width >= 1280 && screen.width <= 2560 && screen.height >= 720 && screen.width > screen.height;
  const isLinuxCard =
    /^Google Inc\. \((Intel|AMD|NVIDIA)/.test(videoCard.vendor) && /OpenGL|Vulkan/.test(videoCard.renderer);
  return (
    isWide &&
    taskBar >= 0 &&
    taskBar <= MAX_TASK_BAR &&
    isLinuxCard &&
    !/SwiftShader|llvmpipe/i.test(videoCard.renderer)
  );
}

function isOrdinaryPhone({ videoCard }: Machine): boolean {
  return /^(Adreno|Mali|PowerVR)/.test(videoCard.renderer);
}
