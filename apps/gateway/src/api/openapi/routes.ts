/** Facts that Nest knows of the routes and its description leaves out: body classes, and which routes need no key. */
import { RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer, type NestApplicationContext } from '@nestjs/core';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import { isPublic } from '../../auth/api-key.guard.js';
import { isUndescribed } from '../undescribed.js';
import { bodyClassOf } from '../validation/body.pipe.js';

export interface RouteFacts {
  body: (new () => object) | null;
  isPublic: boolean;
}

type ControllerClass = new (...args: never[]) => object;

/** By `Class.method`. A route that answers any method is a refusal, not a call, and is hidden from the description. */
export function routeFacts(app: Pick<NestApplicationContext, 'get'>): Map<string, RouteFacts> {
  const facts = new Map<string, RouteFacts>();
  for (const { controllers } of app.get(ModulesContainer).values()) {
    for (const { metatype } of controllers.values()) addController(facts, metatype as ControllerClass);
  }
  return facts;
}

/** A method with several paths is known to Nest's description as `method[0]`, `method[1]` … */
export function routeKey(controller: string, method: string): string {
  return `${controller}.${method.replace(/\[\d+\]$/, '')}`;
}

function hide(controller: ControllerClass, method: string): void {
  const prototype = controller.prototype as Record<string, unknown>;
  ApiExcludeEndpoint()(prototype, method, { value: prototype[method] });
}

function addController(facts: Map<string, RouteFacts>, controller: ControllerClass): void {
  for (const method of new MetadataScanner().getAllMethodNames(controller.prototype as object)) {
    const handler = (controller.prototype as Record<string, unknown>)[method];
    if (typeof handler !== 'function' || !Reflect.hasMetadata(METHOD_METADATA, handler)) continue;
    if (Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.ALL || isUndescribed(handler)) {
      hide(controller, method);
      continue;
    }
    const key = routeKey(controller.name, method);
    if (facts.has(key)) throw new Error(`two controllers are called ${controller.name}`);
    facts.set(key, {
      body: bodyOf(controller, method),
      isPublic: isPublic(handler, controller),
    });
  }
}

function bodyOf(controller: ControllerClass, method: string): (new () => object) | null {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<
    string,
    { pipes?: unknown[] }
  >;
  const pipes = Object.values(args).flatMap((arg) => arg.pipes ?? []);
  return pipes.map(bodyClassOf).find((type) => type !== undefined) ?? null;
}
