/** Makes some computer profiles, posts them and ends. */
import { parentPort } from 'node:worker_threads';
import { FingerprintGenerator, type FingerprintGeneratorOptions } from 'fingerprint-generator';
import type { ComputerProfile, ComputerProfiles } from './computer-profile.js';

/** Profiles of each kind. A small installation would hardly own more computers. */
const WANTED = 24;
const MAX_TRIES = 400;
const MAX_TASK_BAR = 80;

const generator = new FingerprintGenerator();
const profiles: ComputerProfiles = {
  desktop: make({ devices: ['desktop'], operatingSystems: ['linux'] }, isOrdinaryDesktop),
  phone: make({ devices: ['mobile'], operatingSystems: ['android'] }, isOrdinaryPhone),
};
parentPort?.postMessage(profiles);

function make(
  kind: Partial<FingerprintGeneratorOptions>,
  isOrdinary: (profile: ComputerProfile) => boolean,
): ComputerProfile[] {
  const made: ComputerProfile[] = [];
  for (let tries = 0; tries < MAX_TRIES && made.length < WANTED; tries++) {
    const profile = readProfile(kind);
    if (isOrdinary(profile)) made.push(profile);
  }
  return made;
}

function readProfile(kind: Partial<FingerprintGeneratorOptions>): ComputerProfile {
  const { fingerprint } = generator.getFingerprint({ browsers: ['chrome'], locales: ['en-US'], ...kind });
  const { width, height, availHeight, devicePixelRatio } = fingerprint.screen;
  const { vendor, renderer } = fingerprint.videoCard;
  const taskBar = height - availHeight;
  const isPlain = kind.devices?.[0] === 'mobile' || devicePixelRatio === 1;
  return { screen: isPlain ? { width, height } : { width: 0, height: 0 }, taskBar, videoCard: { vendor, renderer } };
}

/** Reported profiles are not always true: phones appear as desktops, or with cards that Linux does not know. */
function isOrdinaryDesktop({ screen, taskBar, videoCard }: ComputerProfile): boolean {
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

function isOrdinaryPhone({ videoCard }: ComputerProfile): boolean {
  return /^(Adreno|Mali|PowerVR)/.test(videoCard.renderer);
}
